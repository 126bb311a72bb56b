from kafka.protocol.api_message import ApiMessage
from kafka.protocol.data_container import DataContainer

class FindCoordinatorRequest(ApiMessage): ...

class MetadataRequest(ApiMessage):
    class MetadataRequestTopic(DataContainer): ...
