/**
 * Sign-in of this machine's terminals at the Hub next to the Edge, so that the console shows runs started with `--project`.
 *
 * Only at a Hub that believes every name, where a sign-in proves nothing that the home does not. It lasts as long as the Hub runs. A sign-in
 * at another Hub is left as it is.
 */
import { Effect, type Redacted } from "effect"
import { callApi } from "../edge/EdgeClient.ts"
import { connectToHub } from "./HubClient.ts"
import { deleteSignIn, readSignIn, writeSignIn } from "./SignInFile.ts"

export interface LocalSignInOptions {
  /** Where the Hub is reached from here, and the address that commands name it by. */
  readonly url: string
  readonly publicUrl: string
  /** A new sign-in of the owner. */
  readonly token: Redacted.Redacted
}

/** Until the scope closes, the terminals of this home are signed in; false where they are signed in elsewhere. */
export const signInLocally = Effect.fn("OwnSignIn.ownSignIn")(function* ({
  publicUrl,
  token,
  url
}: LocalSignInOptions) {
  const calls = yield* connectToHub(url, token)
  const end = Effect.ignore(callApi(calls.auth.logout()))
  const { user } = yield* callApi(calls.auth.me())
  const kept = yield* readSignIn
  // One of the same person at this Hub is what an earlier start left behind.
  if (kept !== undefined && kept.userId !== user.id) return yield* Effect.as(end, false)
  const sign = writeSignIn({ hub: publicUrl, userId: user.id, name: user.name, token })
  const forget = Effect.gen(function* () {
    const now = yield* Effect.orElseSucceed(readSignIn, () => undefined)
    if (now?.userId === user.id) yield* Effect.ignore(deleteSignIn)
    yield* end
  })
  yield* Effect.acquireRelease(sign, () => forget)
  return true
})
