/**
 * Locations for sessions: workspaces on the machines of a user's projects, with the agents that are ready there, or were before the machine went
 * offline; and the card for choosing one, which only the user who receives it can use.
 *
 * Does not: check permissions. The Hub lists what the user may use, and checks a location with every message.
 */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import type { Target } from "@corral/domain/device/Device"
import { isReady, modesIn } from "@corral/domain/offer/Offer"
import type { Project } from "@corral/domain/project/Project"
import type { Agent } from "@corral/domain/run/Agent"
import { Clock, Context, Effect, Layer } from "effect"
import type { SqlError } from "effect/sql"
import * as phrases from "../answer/Phrases.ts"
import type { Responder } from "../answer/Responder.ts"
import { ButtonActions, type WorkLocation } from "../button/ButtonActions.ts"
import { Hub, type HubFailed } from "../hub/Hub.ts"
import {
  type Card,
  type NotSent,
  type PlatformUnavailable,
  sameInAllLanguages
} from "../platform/ChatPlatform.ts"
import type { ConversationKey } from "./Conversations.ts"

/** Users with more projects choose at the Hub. */
const MAX_PROJECTS = 20
export const MAX_LOCATIONS = 20

interface OfferedLocation {
  readonly place: WorkLocation
  readonly isOnline: boolean
}

/** The location that needs no choice: the only one online, or the only one. */
export const onlyLocation = (locations: ReadonlyArray<OfferedLocation>): WorkLocation | undefined => {
  const online = locations.filter(({ isOnline }) => isOnline)
  const [first, ...others] = online.length > 0 ? online : locations
  return others.length === 0 ? first?.place : undefined
}

const locationsIn = (project: Project, target: Target): ReadonlyArray<OfferedLocation> => {
  if (target.state === "revoked") return []
  const ready = target.agents.filter(isReady)
  const isOnline = target.state === "online"
  return target.workspaces
    .filter(({ available }) => available)
    .flatMap((workspace) => {
      // Chats run in `ask`.
      const agent = ready.find((each) => modesIn(workspace, each).includes("ask"))
      if (agent === undefined) return []
      const { id } = workspace
      const names = { project: project.name, target: `${target.name}/${id}`, agent: agent.label }
      const place = { projectId: project.id, targetId: target.id, workspace: id, agentId: agent.id, names }
      return [{ place, isOnline }]
    })
}

/** Name for people: project, machine with workspace, agent. */
export const locationName = ({ names }: WorkLocation): string =>
  `${names.project} · ${names.target} · ${names.agent}`

export class WorkLocations extends Context.Service<
  WorkLocations,
  {
    /** Locations that the account's user may use now. */
    readonly of: (account: ChatAccount) => Effect.Effect<ReadonlyArray<OfferedLocation>, HubFailed>
    /** Whether the account's user may use a location now, with any agent. */
    readonly isOffered: (account: ChatAccount, location: WorkLocation) => Effect.Effect<boolean, HubFailed>
    /** The agents that are ready at a location. */
    readonly agents: (
      account: ChatAccount,
      location: WorkLocation
    ) => Effect.Effect<ReadonlyArray<Agent>, HubFailed>
  }
>()("corral/gateway/WorkLocations") {
  static readonly layer = Layer.effect(
    WorkLocations,
    Effect.gen(function* () {
      const hub = yield* Hub
      const targets = (account: ChatAccount, projectId: WorkLocation["projectId"]) =>
        Effect.map(
          hub.as(account, ({ devices }) => devices.targets({ query: { projectId, limit: 50 } })),
          ({ items }) => items
        )
      const locationsOf = Effect.fn("WorkLocations.of")(function* (account: ChatAccount) {
        const projects = yield* hub.as(account, (calls) =>
          calls.projects.list({ query: { limit: MAX_PROJECTS } })
        )
        const found = yield* Effect.forEach(
          projects.items.filter(({ role }) => role !== "viewer"),
          (project) =>
            Effect.map(targets(account, project.id), (items) =>
              items.flatMap((target) => locationsIn(project, target))
            ),
          { concurrency: 4 }
        )
        return found.flat().slice(0, MAX_LOCATIONS)
      })
      return WorkLocations.of({
        of: locationsOf,
        isOffered: Effect.fn("WorkLocations.isOffered")(function* (account, location) {
          const { projectId, targetId, workspace } = location
          const locations = yield* locationsOf(account)
          return locations.some(
            ({ place }) =>
              place.projectId === projectId && place.targetId === targetId && place.workspace === workspace
          )
        }),
        agents: Effect.fn("WorkLocations.agents")(function* (account, { projectId, targetId }) {
          const items = yield* targets(account, projectId)
          return (items.find(({ id }) => id === targetId)?.agents ?? []).filter(isReady)
        })
      })
    })
  )
}

const LIFETIME_MS = 3_600_000

/** Card for choosing where the agent works: one numbered button per location. Only the user who receives it can use it. */
export class LocationPicker extends Context.Service<
  LocationPicker,
  {
    readonly show: (
      key: ConversationKey,
      responder: Responder,
      locations: ReadonlyArray<OfferedLocation>,
      title: Card["title"]
    ) => Effect.Effect<void, NotSent | PlatformUnavailable | SqlError.SqlError>
  }
>()("corral/gateway/LocationPicker") {
  static readonly layer = Layer.effect(
    LocationPicker,
    Effect.gen(function* () {
      const actions = yield* ButtonActions
      const clock = yield* Clock.Clock
      return LocationPicker.of({
        show: Effect.fn("WorkLocations.showPicker")(function* (
          { chatKey, key }: ConversationKey,
          { account, language, platform, replyWithCard }: Responder,
          locations: ReadonlyArray<OfferedLocation>,
          title: Card["title"]
        ) {
          const expiresAt = clock.currentTimeMillisUnsafe() + LIFETIME_MS
          const ids = yield* Effect.forEach(locations, ({ place }) =>
            actions.offer({
              bot: account,
              meaning: { _tag: "Use", talk: key, base: chatKey, place },
              audience: account.account,
              expiresAt
            })
          )
          const sent = yield* replyWithCard(
            {
              language,
              title,
              tone: "neutral",
              lines: [
                ...locations.map(({ isOnline, place }, at) =>
                  phrases.numberedLocation(at + 1, locationName(place), isOnline)
                ),
                phrases.useHint
              ],
              buttons: ids.slice(0, platform.limits.buttons).map((actionId, at) => ({
                _tag: "Action",
                label: sameInAllLanguages(String(at + 1)),
                actionId,
                style: "plain"
              }))
            },
            "choose"
          )
          yield* actions.attach(ids, sent)
        })
      })
    })
  )
}
