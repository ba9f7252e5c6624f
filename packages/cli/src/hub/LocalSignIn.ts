/**
 * Sign-in of this machine's terminals at the Hub next to the Edge, so that the console shows runs started with `--project`.
 *
 * Only for the development sign-in, which verifies no identity. Commands use it as long as the Hub runs. The next start continues it, so a
 * terminal that follows a run follows it through a restart. A sign-in at another Hub is kept.
 */
import { Effect, type Redacted } from "effect"
import { connectToHub } from "./HubClient.ts"
import { readRestingSignIn, readSignIn, restSignIn, writeSignIn } from "./SignInFile.ts"

export interface LocalSignInOptions {
  /** URL of the Hub from this process, and its public URL. */
  readonly url: string
  readonly publicUrl: string
  /** A sign-in of the owner. */
  readonly token: Redacted.Redacted
}

/** Token of an earlier start, after a stop or without one. */
export const earlierToken = Effect.gen(function* () {
  const earlier = (yield* readSignIn) ?? (yield* readRestingSignIn)
  return earlier?.token
}).pipe(Effect.orElseSucceed(() => undefined))

/** Signs the terminals of this home in until the scope closes. Returns false if they are signed in elsewhere. */
export const signInLocally = Effect.fn("LocalSignIn.signIn")(function* ({
  publicUrl,
  token,
  url
}: LocalSignInOptions) {
  const calls = yield* connectToHub(url, token)
  const { user } = yield* calls.auth.me()
  const existing = yield* readSignIn
  // A sign-in of the same user at this Hub is left over from an earlier start.
  if (existing !== undefined && existing.userId !== user.id)
    return yield* Effect.as(Effect.ignore(calls.auth.logout()), false)
  const store = writeSignIn({ hub: publicUrl, userId: user.id, name: user.name, token })
  const rest = Effect.gen(function* () {
    const current = yield* Effect.orElseSucceed(readSignIn, () => undefined)
    if (current?.userId === user.id) yield* restSignIn
  })
  yield* Effect.acquireRelease(store, () => rest)
  return true
})
