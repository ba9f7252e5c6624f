/**
 * Where work can be done: the projects of a person, the machines that they may use there, the workspaces on those, and the agents that are
 * ready. What a person may use is the Hub's to say; a place that was chosen once is checked by the Hub each time.
 */
import type { ChatAccount } from "@corral/domain/chat/ChatAccount"
import type { Target } from "@corral/domain/device/Device"
import type { Project } from "@corral/domain/project/Project"
import type { Agent } from "@corral/domain/run/Agent"
import { Context, Effect, Layer } from "effect"
import type { WorkLocation } from "../action/ButtonActions.ts"
import { Hub } from "../hub/Hub.ts"
import type { HubFailed } from "../hub/HubFailures.ts"

/** More are chosen from at the Hub. */
const MOST_PROJECTS = 20
export const MAX_LOCATIONS = 20

const isReady = ({ available, signedIn }: Agent): boolean => available && signedIn !== false

/** The default agent of a location. */
const firstReady = (agents: ReadonlyArray<Agent>): Agent | undefined => agents.find(isReady)

const placesIn = (project: Project, target: Target): ReadonlyArray<WorkLocation> => {
  const agent = firstReady(target.agents)
  if (target.state !== "online" || agent === undefined) return []
  return target.workspaces
    .filter(({ available, modes }) => available && modes.includes("ask"))
    .map(({ id }) => ({
      projectId: project.id,
      targetId: target.id,
      workspace: id,
      agentId: agent.id,
      names: { project: project.name, target: `${target.name}/${id}`, agent: agent.label }
    }))
}

/** For a person: the project, the machine and its workspace, the agent. */
export const locationName = ({ names }: WorkLocation): string =>
  `${names.project} · ${names.target} · ${names.agent}`

export class WorkLocations extends Context.Service<
  WorkLocations,
  {
    /** Where the person may have work done now. */
    readonly of: (account: ChatAccount) => Effect.Effect<ReadonlyArray<WorkLocation>, HubFailed>
    /** Whether the person may have work done at a place now, by whichever agent. */
    readonly isOffered: (account: ChatAccount, place: WorkLocation) => Effect.Effect<boolean, HubFailed>
    /** The agents that are ready at a place. */
    readonly agents: (
      account: ChatAccount,
      place: WorkLocation
    ) => Effect.Effect<ReadonlyArray<Agent>, HubFailed>
  }
>()("corral/gateway/Places") {
  static readonly layer = Layer.effect(
    WorkLocations,
    Effect.gen(function* () {
      const hub = yield* Hub
      const targets = (account: ChatAccount, projectId: WorkLocation["projectId"]) =>
        Effect.map(
          hub.as(account, ({ devices }) => devices.targets({ query: { projectId, limit: 50 } })),
          ({ items }) => items
        )
      const placesOf = Effect.fnUntraced(function* (account: ChatAccount) {
        const projects = yield* hub.as(account, (calls) =>
          calls.projects.list({ query: { limit: MOST_PROJECTS } })
        )
        const found = yield* Effect.forEach(
          projects.items.filter(({ role }) => role !== "viewer"),
          (project) =>
            Effect.map(targets(account, project.id), (items) =>
              items.flatMap((target) => placesIn(project, target))
            ),
          { concurrency: 4 }
        )
        return found.flat().slice(0, MAX_LOCATIONS)
      })
      return WorkLocations.of({
        of: placesOf,
        isOffered: (account, { projectId, targetId, workspace }) =>
          Effect.map(placesOf(account), (options) =>
            options.some(
              (each) =>
                each.projectId === projectId && each.targetId === targetId && each.workspace === workspace
            )
          ),
        agents: (account, { projectId, targetId }) =>
          Effect.map(targets(account, projectId), (items) =>
            (items.find(({ id }) => id === targetId)?.agents ?? []).filter(isReady)
          )
      })
    })
  )
}
