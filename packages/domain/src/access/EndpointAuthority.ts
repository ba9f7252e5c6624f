/** Authority that an endpoint of the Hub requires, and the API keys that may call it, as annotations on the endpoint. */
import { Context } from "effect"
import type { ApiKeyScope } from "../identity/ApiKey.ts"
import type { Action } from "./Authorization.ts"

/** An action of the matrix, or an authority that only the Hub's endpoints use. */
export type EndpointAuthority =
  | Action
  /** The owner of the device. */
  | "device.own"
  /** The owner of the device, or a member of a project that the device is shared with. */
  | "device.read"
  /** A join token, or a sign-in. */
  | "device.join"
  /** The token of a Gateway. */
  | "gateway"
  /** The user whose chat account is linked. */
  | "binding.own"

/**
 * Annotation with the authority of an endpoint. A list requires a sign-in and contains what its caller may read.
 *
 * `docs/authorization.md` is generated from these annotations. Tests compare the Hub with them.
 */
export class RequiredAuthority extends Context.Service<RequiredAuthority, EndpointAuthority>()(
  "corral/domain/RequiredAuthority"
) {}

/**
 * Annotation with the scope of API keys that may call an endpoint. Others are closed to keys: those of sign-ins, keys, chat accounts, members and
 * devices, because a stolen key could create other credentials; approvals, questions, changes, the candidate that continues and the end of background work, because a person
 * decides them.
 */
export class KeyScope extends Context.Service<KeyScope, ApiKeyScope>()("corral/domain/KeyScope") {}
