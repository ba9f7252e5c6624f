/** Connection to a Hub. */
import { Effect, type Redacted } from "effect"

/** Connects to the Hub at `url`, with a sign-in if there is one. Loads the Hub's API on demand: commands at an Edge start faster without it. */
export const connectToHub = (url: string, token?: Redacted.Redacted) =>
  Effect.flatMap(
    Effect.promise(() => import("./HubCalls.ts")),
    ({ makeHubCalls }) => makeHubCalls(url, token)
  )

/** Typed calls of a Hub, by endpoint group. */
export type HubApiClient = Effect.Success<ReturnType<typeof connectToHub>>
