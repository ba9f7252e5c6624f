/**
 * Authorization table of the Hub: the callers of each endpoint, derived from the endpoints' annotations. `docs/authorization.md` is generated
 * from it. Tests compare the Hub with it.
 */
import { Context } from "effect"
import { HttpApi, type HttpApiEndpoint, type HttpApiGroup } from "effect/http-api"
import { type EndpointAuthority, KeyScope, RequiredAuthority } from "../access/EndpointAuthority.ts"
import type { ApiKeyScope } from "../identity/ApiKey.ts"
import { type Action, authorityMatrix, roleRefusal, type RoleAction } from "../access/Authorization.ts"
import type { ErrorCode } from "../errors/ErrorTable.ts"
import { ProjectRole } from "../project/Project.ts"
import { HubApi, type HubGroup } from "./HubApi.ts"

type NameIn<Group extends HubGroup> = Group extends HubGroup
  ? `${Group["identifier"]}.${HttpApiEndpoint.Identifier<HttpApiGroup.Endpoints<Group>>}`
  : never

/** Name of an endpoint with its group, such as `runs.cancel`. */
export type EndpointName = NameIn<HubGroup>

/** Authority of an endpoint; `undefined` if the endpoint declares none. */
export const requiredAuthorityOf = ({
  annotations
}: Pick<HttpApiEndpoint.Top, "annotations">): EndpointAuthority | undefined =>
  Context.getOrUndefined(annotations, RequiredAuthority)

/** Scope of the API keys that may call an endpoint; `undefined` if no key may. */
export const keyScopeOf = ({
  annotations
}: Pick<HttpApiEndpoint.Top, "annotations">): ApiKeyScope | undefined =>
  Context.getOrUndefined(annotations, KeyScope)

const collect = (): Readonly<Record<EndpointName, EndpointAuthority>> => {
  const found: Partial<Record<EndpointName, EndpointAuthority>> = {}
  HttpApi.reflect(HubApi, {
    onGroup: () => undefined,
    onEndpoint: ({ endpoint, group }) => {
      const name = `${group.identifier}.${endpoint.identifier}` as EndpointName
      const authority = requiredAuthorityOf(endpoint)
      if (authority === undefined) throw new Error(`${name} declares no authority`)
      found[name] = authority
    }
  })
  return found as Record<EndpointName, EndpointAuthority>
}

/** Required authority by name of the endpoint, in the order of the API. */
export const endpointAuthority = collect()

/** Callers that the table distinguishes: without a valid sign-in, a Gateway, a signed-in user without a role, and one with each role. */
export const callers = [
  "no sign-in",
  "an expired sign-in",
  "a revoked sign-in",
  "a token of another kind",
  "a Gateway",
  "not a member",
  ...ProjectRole.literals
] as const
export type Caller = (typeof callers)[number]

const isSignedIn = (caller: Caller): boolean => callers.indexOf(caller) >= callers.indexOf("not a member")

const roleOf = (caller: Caller): ProjectRole | undefined =>
  ProjectRole.literals.find((role) => role === caller)

const isRoleAction = (authority: EndpointAuthority): authority is RoleAction =>
  authority in authorityMatrix && "role" in authorityMatrix[authority as Action]

/**
 * Error code of an endpoint for a caller; undefined if the caller has the required authority. Assumes a private project, whose owner also owns
 * the device and the linked account. The device is shared with the project, and the Gateway names no account.
 */
export const refusalOf = (endpoint: EndpointName, caller: Caller): ErrorCode | undefined => {
  const authority = endpointAuthority[endpoint]
  if (authority === "public.read") return undefined
  if (authority === "gateway") return caller === "a Gateway" ? undefined : "unauthorized"
  if (!isSignedIn(caller)) return "unauthorized"
  if (isRoleAction(authority)) return roleRefusal(authority, roleOf(caller))?.code
  if (authority === "device.own" || authority === "binding.own")
    return caller === "owner" ? undefined : "permission_denied"
  if (authority === "device.read") return roleOf(caller) === undefined ? "permission_denied" : undefined
  return undefined
}
