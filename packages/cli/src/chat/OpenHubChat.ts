/** Chat with a Hub: an earlier session, or a new one. */
import type { Session, SessionItem } from "@corral/domain/session/Session"
import type { SessionId } from "@corral/domain/identity/Ids"
import { Clock, Effect, Option } from "effect"
import { type CommandFailed, refused } from "../CommandFailed.ts"
import type { RunServerChoice } from "../Flags.ts"
import { connectToSignedInHub, type HubApiClient, memberNames } from "../hub/HubClient.ts"
import { findProject, hubRunServer } from "../run/HubRunServer.ts"
import { resolveSessionId } from "../run/IdArguments.ts"
import { choose } from "../terminal/Choose.ts"
import { relativeTime } from "../terminal/ShownTime.ts"
import { type AgentPlace, placeOfSession, type PlaceFlags, selectPlace } from "./HubPlace.ts"
import { HubThread } from "./HubThread.ts"

/** Which conversation: a new one, the latest, one that the user picks, or one by its id. */
export type Resumption =
  | { readonly kind: "new" | "latest" | "pick" }
  | { readonly kind: "id"; readonly start: string }

/** Active sessions, the latest first. */
export const activeSessions = Effect.fnUntraced(function* (calls: HubApiClient, choice: RunServerChoice) {
  const filter = Option.isNone(choice.project)
    ? {}
    : { projectId: (yield* findProject(calls, choice.project)).id }
  const { items } = yield* calls.sessions.list({ query: { ...filter, state: "active", limit: 200 } })
  return items.toSorted((a, b) => b.updatedAt.localeCompare(a.updatedAt))
})

const titleOf = ({ title, unread = 0, updatedAt }: SessionItem, now: number): string =>
  `${unread > 0 ? `(${unread}) ` : ""}${title === "" ? "Untitled" : title} · ${relativeTime(updatedAt, now)}`

const findSession = Effect.fnUntraced(function* (
  calls: HubApiClient,
  choice: RunServerChoice,
  resumption: Resumption
) {
  const id = yield* Effect.gen(function* () {
    if (resumption.kind === "new") return undefined
    if (resumption.kind === "id")
      return yield* resolveSessionId(activeSessions(calls, choice))(resumption.start)
    const sessions = yield* activeSessions(calls, choice)
    const now = yield* Clock.currentTimeMillis
    const [latest] = sessions
    if (latest === undefined)
      return yield* refused(
        "There is no conversation to continue. Start one without --resume and --continue."
      )
    return resumption.kind === "latest"
      ? latest.id
      : yield* choose(
          "Continue",
          sessions.map((session) => ({ title: titleOf(session, now), value: session.id }))
        )
  })
  return id === undefined ? undefined : yield* calls.sessions.get({ params: { id: id as SessionId } }) // ids of sessions
})

export interface HubChatRequest {
  readonly choice: RunServerChoice
  readonly flags: PlaceFlags
  readonly resumption: Resumption
}

export const openHubChat = Effect.fn("OpenHubChat.open")(function* ({
  choice,
  flags,
  resumption
}: HubChatRequest) {
  const { calls, ...signIn } = yield* connectToSignedInHub(choice.hub)
  const server = yield* hubRunServer(choice)
  const session = yield* findSession(calls, choice, resumption)
  if (session !== undefined && session.state !== "active")
    return yield* refused(`The session is ${session.state}. Reopen it in the console, or start another one.`)
  const found = session === undefined ? undefined : yield* placeOfSession(calls, session)
  const inProject =
    session === undefined ? flags : { ...flags, project: Option.some<string>(session.projectId) }
  const place = found ?? (yield* selectPlace(calls, inProject, true))
  const names = yield* memberNames(calls, place.projectId).pipe(
    Effect.orElseSucceed((): ReadonlyMap<string, string> => new Map())
  )
  const threadOf = (current: AgentPlace, of: Session | undefined): HubThread =>
    new HubThread({ calls, signIn, server, place: withMode(current, flags), session: of, names })
  const startNew: Effect.Effect<HubThread, CommandFailed> = Effect.sync(() =>
    threadOf({ ...place, instanceId: undefined }, undefined)
  )
  return { thread: threadOf(place, session), startNew }
})

const withMode = (place: AgentPlace, { mode }: PlaceFlags): AgentPlace =>
  Option.isSome(mode) ? { ...place, mode: mode.value } : place
