/** Connection to a Hub, to the one that the user is signed in to or to another, and the names of its users. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { hubUrlOf } from "@corral/edge/config/EdgeConfig"
import { Effect, Option, type Redacted } from "effect"
import { readAllPages } from "../AllPages.ts"
import { type CommandFailed, refused } from "../CommandFailed.ts"
import { readSignIn, type StoredSignIn } from "./SignInFile.ts"

/** Connects to the Hub at `url`, with a sign-in if there is one. Loads the Hub's API on demand: commands at an Edge start faster without it. */
export const connectToHub = (url: string, token?: Redacted.Redacted) =>
  Effect.flatMap(
    Effect.promise(() => import("./HubCalls.ts")),
    ({ makeHubCalls }) => makeHubCalls(url, token)
  )

/** Typed calls of a Hub, by endpoint group. */
export type HubApiClient = Effect.Success<ReturnType<typeof connectToHub>>

const NOT_SIGNED_IN = "You are not signed in to a Hub. Sign in with `corral login --hub URL`."

/** Parses the value of `--hub`. */
export const parseHubUrl = (text: string): Effect.Effect<string, CommandFailed> => {
  const address = hubUrlOf(text)
  return "problem" in address
    ? Effect.fail(refused(`--hub: ${address.problem}.`))
    : Effect.succeed(address.url)
}

/** Reads the sign-in at this Hub, or the only sign-in if no Hub is named. */
export const requireSignIn = Effect.fnUntraced(function* (hub: Option.Option<string>) {
  const signIn = yield* readSignIn
  const wanted = Option.isSome(hub) ? yield* parseHubUrl(hub.value) : undefined
  if (signIn === undefined)
    return yield* refused(
      wanted === undefined
        ? NOT_SIGNED_IN
        : `You are not signed in to ${wanted}. Sign in with \`corral login --hub ${wanted}\`.`
    )
  if (wanted !== undefined && wanted !== signIn.hub)
    return yield* refused(
      `You are signed in to ${signIn.hub}. Run \`corral logout\` first, then \`corral login --hub ${wanted}\`.`
    )
  return signIn
})

/** Connects as the signed-in user. Returns the client and the sign-in. */
export const connectToSignedInHub = Effect.fnUntraced(function* (hub: Option.Option<string>) {
  const signIn = yield* requireSignIn(hub)
  return { ...signIn, calls: yield* connectToHub(signIn.hub, signIn.token) }
})

/** Names of the project's members, by their ids. */
export const memberNames = (
  calls: HubApiClient,
  id: ProjectId
): Effect.Effect<ReadonlyMap<string, string>, CommandFailed> =>
  Effect.map(
    readAllPages((query) => calls.projects.members({ params: { id }, query })),
    ({ items }) => new Map(items.map(({ name, userId }) => [userId, name]))
  )

/** What to call a user: "you" for the signed-in user, and the id of a user without a name. */
export const userNaming =
  ({ userId }: Pick<StoredSignIn, "userId">, names: ReadonlyMap<string, string>) =>
  (user: string): string =>
    user === userId ? "you" : (names.get(user) ?? user)
