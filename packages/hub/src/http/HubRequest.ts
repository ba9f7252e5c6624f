/** Decoded request of an endpoint, for handlers that are declared outside `HttpApiBuilder.group`. */
import type { HubGroup } from "@corral/domain/hub-api/HubApi"
import type { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"

type EndpointsOf<Group extends HubGroup["identifier"]> = HttpApiGroup.EndpointsWithIdentifier<HubGroup, Group>

export type HubRequest<
  Group extends HubGroup["identifier"],
  Endpoint extends HttpApiEndpoint.Identifier<EndpointsOf<Group>>
> = HttpApiEndpoint.Request<HttpApiEndpoint.WithIdentifier<EndpointsOf<Group>, Endpoint>>
