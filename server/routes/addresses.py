"""Routes of the address book."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from replicator.config.ddns import ROLES, Name, parse_name
from replicator.errors import ConfigError
from server.addresses import Address, AddressList
from server.request_facts import facts_of
from server.route_helpers import AddressesOf, Arguments, By, LoginOf, Version, body_of, documented, only, reply

router = APIRouter(tags=["addresses"])
_SET = body_of(
    {
        "type": "object",
        "properties": {
            "address": {"type": "string", "maxLength": 300, "description": "host:port, such as [2001:db8::7]:3306"},
            "role": {"type": "string", "enum": list(ROLES), "description": "default: as it is, else primary"},
            "reason": {"type": "string", "maxLength": 200},
        },
        "required": ["address"],
        "additionalProperties": False,
    },
    required=True,
)


def _name(
    request: Request,
    app: Annotated[str, Path(description="application that the address belongs to")],
    domain: Annotated[str, Path(description="name of the address within the application")],
) -> Name:
    name = parse_name(f"{app}/{domain}")
    facts_of(request.scope).target = str(name)
    return name


NameOf = Annotated[Name, Depends(_name)]


@router.get("/addresses", responses=documented(AddressList), operation_id="listAddresses")
def list_addresses(addresses: AddressesOf, login: LoginOf) -> Response:
    """Lists the addresses of the address book, with the tasks that use them, as far as the selector of the login
    includes them."""
    return reply(AddressList(items=addresses.addresses(login)))


@router.get("/addresses/{app}/{domain}", responses=documented(Address), operation_id="readAddress")
def read_address(addresses: AddressesOf, login: LoginOf, name: NameOf) -> Response:
    """Returns an address with its earlier values. 404 E4101 if it does not exist."""
    return reply(addresses.read(name, login))


@router.put("/addresses/{app}/{domain}", responses=documented(Address), openapi_extra=_SET, operation_id="setAddress")
def set_address(
    request: Request,
    addresses: AddressesOf,
    login: LoginOf,
    name: NameOf,
    by: By,
    version: Version,
    arguments: Arguments,
) -> Response:
    """Creates or changes an address. Running tasks that use it check the new server as in a fail-over, and connect to
    it at a transaction boundary; a task whose checks fail stays where it is and shows the difference. 412 E4006 if
    If-Match is not the current version."""
    given = only(arguments, "address", "role", "reason")
    if "address" not in given:
        raise ConfigError("E4100", "the request has no address", wanted='{"address": "host:port"}')
    reason = given.get("reason", "")[:200]
    facts_of(request.scope).changes = addresses.set(name, given["address"], given.get("role"), by, reason, version)
    return reply(addresses.read(name, login))


@router.delete("/addresses/{app}/{domain}", status_code=204, operation_id="deleteAddress")
def delete_address(addresses: AddressesOf, name: NameOf, version: Version) -> Response:
    """Deletes an address. 409 E4103 if tasks use it, 412 E4006 if If-Match is not the current version; 404 E4101 if the
    address does not exist."""
    addresses.delete(name, version)
    return Response(status_code=204)
