/**
 * Sign-in of this machine's terminals at the Hub next to the Edge, so that the console shows runs started with `--project`.
 *
 * Only for the development sign-in, which verifies no identity. It lasts as long as the Hub runs. A sign-in at another Hub is kept.
 */
import { Effect, type Redacted } from "effect"
import { connectToHub } from "./HubClient.ts"
import { deleteSignIn, readSignIn, writeSignIn } from "./SignInFile.ts"

export interface LocalSignInOptions {
  /** URL of the Hub from this process, and its public URL. */
  readonly url: string
  readonly publicUrl: string
  /** A new sign-in of the owner. */
  readonly token: Redacted.Redacted
}

/** Signs the terminals of this home in until the scope closes. Returns false if they are signed in elsewhere. */
export const signInLocally = Effect.fn("LocalSignIn.signIn")(function* ({
  publicUrl,
  token,
  url
}: LocalSignInOptions) {
  const calls = yield* connectToHub(url, token)
  const end = Effect.ignore(calls.auth.logout())
  const { user } = yield* calls.auth.me()
  const existing = yield* readSignIn
  // A sign-in of the same user at this Hub is left over from an earlier start.
  if (existing !== undefined && existing.userId !== user.id) return yield* Effect.as(end, false)
  const store = writeSignIn({ hub: publicUrl, userId: user.id, name: user.name, token })
  const forget = Effect.gen(function* () {
    const current = yield* Effect.orElseSucceed(readSignIn, () => undefined)
    if (current?.userId === user.id) yield* Effect.ignore(deleteSignIn)
    yield* end
  })
  yield* Effect.acquireRelease(store, () => forget)
  return true
})
