/**
 * Locations for sessions: workspaces on the machines of a user's projects, with the agents that are ready there, or were before the machine went
 * offline.
 *
 * Does not: check permissions. The Hub lists what the user may use, and checks a location with every message.
 */
import { isReady, modesIn } from "@corral/domain/offer/Offer"
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import type { Target } from "@corral/domain/device/Device"
import type { Project } from "@corral/domain/project/Project"
import type { Agent } from "@corral/domain/run/Agent"
import { Context, Effect, Layer } from "effect"
import type { WorkLocation } from "../button/ButtonMeaning.ts"
import { Hub } from "../hub/Hub.ts"
import type { HubFailed } from "../hub/HubFailures.ts"

/** Users with more projects choose at the Hub. */
const MAX_PROJECTS = 20
export const MAX_LOCATIONS = 20

export interface OfferedLocation {
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
