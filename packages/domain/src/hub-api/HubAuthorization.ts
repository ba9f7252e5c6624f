/**
 * Which caller may call which endpoint of the Hub, derived from the endpoints' annotations: the content of `docs/authorization.md`, and what
 * the Hub is tested against.
 */
import { Context } from "effect"
import { HttpApi, type HttpApiEndpoint, type HttpApiGroup } from "effect/http-api"
import { type EndpointAuthority, RequiredAuthority } from "../access/EndpointAuthority.ts"
import { type Action, matrix, roleRefusal, type RoleAction } from "../access/Authorization.ts"
import type { ErrorCode } from "../errors/ErrorTable.ts"
import { ProjectRole } from "../project/Project.ts"
import { HubApi, type HubGroup } from "./HubApi.ts"

type NameIn<Group extends HubGroup> = Group extends HubGroup
  ? `${Group["identifier"]}.${HttpApiEndpoint.Identifier<HttpApiGroup.Endpoints<Group>>}`
  : never

/** Group and name of an endpoint, such as `runs.cancel`. */
export type EndpointName = NameIn<HubGroup>

/** Authority of an endpoint; `undefined` if the endpoint declares none. */
export const requiredAuthorityOf = ({
  annotations
}: Pick<HttpApiEndpoint.Top, "annotations">): EndpointAuthority | undefined =>
  Context.getOrUndefined(annotations, RequiredAuthority)

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

/** By name of the endpoint, in the order of the API. */
export const endpointAuthority = collect()

/** Callers that the table tells apart: without a valid sign-in, as a Gateway, with a sign-in and no role in the project, with each role. */
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
  authority in matrix && "role" in matrix[authority as Action]

/**
 * The code by which an endpoint refuses a caller; undefined where it does not for want of authority. The project is private, its owner is
 * the device's and the linked account's, the device is shared with it, and the Gateway names no account.
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
