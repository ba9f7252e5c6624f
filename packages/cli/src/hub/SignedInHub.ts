/** The Hub that this person is signed in to, as typed calls. */
import { hubUrlOf } from "@corral/edge/config/HubAddress"
import { Effect, Option } from "effect"
import { type CommandFailed, refused } from "../CommandFailed.ts"
import { connectToHub } from "./HubClient.ts"
import { readSignIn } from "./SignInFile.ts"

const NOT_SIGNED_IN = "You are signed in to no Hub: corral login --hub URL."

/** The address as a Hub is named by. */
export const parseHubUrl = (text: string): Effect.Effect<string, CommandFailed> => {
  const address = hubUrlOf(text)
  return "problem" in address
    ? Effect.fail(refused(`--hub: ${address.problem}.`))
    : Effect.succeed(address.url)
}

/** The sign-in at that Hub, or at whichever there is one. */
export const requireSignIn = Effect.fnUntraced(function* (hub: Option.Option<string>) {
  const kept = yield* readSignIn
  const wanted = Option.isSome(hub) ? yield* parseHubUrl(hub.value) : undefined
  if (kept === undefined)
    return yield* refused(
      wanted === undefined ? NOT_SIGNED_IN : `You are not signed in there: corral login --hub ${wanted}.`
    )
  if (wanted !== undefined && wanted !== kept.hub)
    return yield* refused(
      `You are signed in to ${kept.hub}: corral logout first, then corral login --hub ${wanted}.`
    )
  return kept
})

/** Calls in the name of whoever is signed in, and their sign-in. */
export const connectToSignedInHub = Effect.fnUntraced(function* (hub: Option.Option<string>) {
  const kept = yield* requireSignIn(hub)
  return { ...kept, calls: yield* connectToHub(kept.hub, kept.token) }
})
