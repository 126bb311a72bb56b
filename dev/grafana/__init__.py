"""The Grafana dashboards under deploy/grafana, made from tables of panels."""
