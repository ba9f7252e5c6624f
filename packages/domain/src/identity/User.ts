/**
 * Users and their sign-ins. Names and addresses come from the identity provider. Corral stores no passwords.
 */
import { Schema } from "effect"
import { SignInId, UserId } from "./Ids.ts"

/** A user of the Hub. */
export const User = Schema.Struct({
  id: UserId,
  name: Schema.String,
  email: Schema.optionalKey(Schema.String),
  createdAt: Schema.String
}).annotate({ identifier: "User" })
export type User = typeof User.Type

/** Kind of client that is signed in. The kind determines the lifetime of the sign-in. */
export const SignInKind = Schema.Literals(["web", "desktop", "cli"])
export type SignInKind = typeof SignInKind.Type

/** Authentication of a request: a sign-in of that kind, an API key (`key`), or a Gateway for a linked chat account (`chat`). */
export const PrincipalKind = Schema.Literals([...SignInKind.literals, "key", "chat"])
export type PrincipalKind = typeof PrincipalKind.Type

/** Response of GET /client/auth/me: the signed-in user and the expiry of the sign-in. */
export const SignedIn = Schema.Struct({ user: User, kind: PrincipalKind, expiresAt: Schema.String }).annotate(
  { identifier: "SignedIn" }
)
export type SignedIn = typeof SignedIn.Type

/** A valid sign-in of the caller. */
export const OpenSignIn = Schema.Struct({
  id: SignInId,
  kind: SignInKind,
  /** Name that the client gave when it requested the sign-in. */
  clientName: Schema.optionalKey(Schema.String),
  createdAt: Schema.String,
  /** Rounded to the minute. */
  lastUsedAt: Schema.String,
  /** Expiry, unless a use renews the sign-in. */
  expiresAt: Schema.String,
  /** Whether this request uses the sign-in. */
  current: Schema.Boolean
}).annotate({ identifier: "OpenSignIn" })
export type OpenSignIn = typeof OpenSignIn.Type
