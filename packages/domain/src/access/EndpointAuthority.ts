/** Authority that an endpoint of the Hub requires, as an annotation on the endpoint. */
import { Context } from "effect"
import type { Action } from "./Authorization.ts"

export type EndpointAuthority =
  | Action
  /** The owner of the device. */
  | "device.own"
  /** The owner of the device, and the members of a project that it is shared with. */
  | "device.read"
  /** A join token, or a sign-in. */
  | "device.join"
  /** A Gateway's token. */
  | "gateway"
  /** The user whose chat account is linked. */
  | "binding.own"

/**
 * A list requires a sign-in and shows what its caller may read. `docs/authorization.md` is generated from these annotations, and the Hub is
 * tested against them.
 */
export class RequiredAuthority extends Context.Service<RequiredAuthority, EndpointAuthority>()(
  "corral/domain/RequiredAuthority"
) {}
