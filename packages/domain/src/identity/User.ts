/**
 * A person, as the identity provider named them. Corral keeps no password and no profile beyond this.
 */
import { Schema } from "effect"
import { SignInId, UserId } from "./Ids.ts"

export const User = Schema.Struct({
  id: UserId,
  name: Schema.String,
  email: Schema.optionalKey(Schema.String),
  createdAt: Schema.String
}).annotate({ identifier: "User" })
export type User = typeof User.Type

/** Where a sign-in lives: it decides how long it lasts. */
export const SignInKind = Schema.Literals(["web", "desktop", "cli"])
export type SignInKind = typeof SignInKind.Type

/** What a request came with: a sign-in of that kind, an API key, or the word of a Gateway for an account that is bound. */
export const PrincipalKind = Schema.Literals([...SignInKind.literals, "key", "chat"])
export type PrincipalKind = typeof PrincipalKind.Type

/** GET /client/auth/me: who is signed in, and until when. */
export const SignedIn = Schema.Struct({ user: User, kind: PrincipalKind, expiresAt: Schema.String }).annotate(
  { identifier: "SignedIn" }
)
export type SignedIn = typeof SignedIn.Type

/** A sign-in of one's own that is worth something now. */
export const OpenSignIn = Schema.Struct({
  id: SignInId,
  kind: SignInKind,
  /** What a program called itself when it asked to be signed in. */
  clientName: Schema.optionalKey(Schema.String),
  createdAt: Schema.String,
  /** To the minute. */
  lastUsedAt: Schema.String,
  /** Unless it is used before. */
  expiresAt: Schema.String,
  /** Whether this request came with it. */
  current: Schema.Boolean
}).annotate({ identifier: "OpenSignIn" })
export type OpenSignIn = typeof OpenSignIn.Type
