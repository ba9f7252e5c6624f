/**
 * Workspaces of an editor's connection at a Hub, and the agents that can be used there: those that the targets offer, also while a target is away, and
 * those that earlier sessions have used, so that these can still be read.
 */
import type { HostAgent, HostModel, HostWorkspace } from "@corral/agent-host/host/HostBackend"
import type { RunMode } from "@corral/domain/approval/RunMode"
import type { Target } from "@corral/domain/device/Device"
import { Conflict, NotFound } from "@corral/domain/errors/Failures"
import type { AgentId, ProjectId, WorkspaceId } from "@corral/domain/identity/Ids"
import { findAgent } from "@corral/domain/offer/Offer"
import { Effect } from "effect"
import { HubAuthority } from "../authority/HubAuthority.ts"
import { AgentConversations, type AgentWorkspace } from "../conversation/AgentConversations.ts"
import { Inventory } from "../device/Inventory.ts"
import { Projects } from "../project/Projects.ts"
import { WorkspaceLinks } from "../project/WorkspaceLinks.ts"
import type { HostCalls, HostConnection } from "./HostCalls.ts"

/** Projects, targets and links that one connection can have. */
const MAX_PROJECTS = 50
const MAX_TARGETS = 200
const MAX_LINKS = 200

/** A workspace that is linked to a project. */
export interface HostPlace extends AgentWorkspace {
  readonly projectId: ProjectId
  /** `undefined` if the caller may only read. */
  readonly target: Target | undefined
}

const isAt = (place: AgentWorkspace, { targetId, workspace }: AgentWorkspace): boolean =>
  place.targetId === targetId && place.workspace === workspace

/** The modes of both, the usual one first. */
const commonModes = (
  first: ReadonlyArray<RunMode> | undefined,
  second: ReadonlyArray<RunMode>
): ReadonlyArray<RunMode> => {
  const common = first === undefined ? second : second.filter((mode) => first.includes(mode))
  return common.includes("ask") ? ["ask", ...common.filter((mode) => mode !== "ask")] : common
}

const offeredWorkspace = ({ target, workspace }: HostPlace) =>
  target?.workspaces.find(({ id }) => id === workspace)

const modelsOf = (model: string | undefined): ReadonlyArray<HostModel> =>
  model === undefined ? [] : [{ id: model, name: model }]

const offeredAgents = (place: HostPlace): ReadonlyArray<HostAgent> => {
  const { target } = place
  const modes = offeredWorkspace(place)?.modes
  if (target === undefined || modes === undefined) return []
  const where = target.state === "online" ? target.name : `${target.name}, which is offline`
  return target.agents
    .filter(({ available }) => available)
    .map((agent) => ({
      id: agent.id,
      label: agent.label,
      description: `on ${where}`,
      models: modelsOf(agent.model),
      modes: commonModes(agent.modes, modes)
    }))
}

/** One entry per agent, with what all of its places have. */
const merged = (agents: ReadonlyArray<HostAgent>): ReadonlyArray<HostAgent> => {
  const byId = new Map<AgentId, HostAgent>()
  for (const agent of agents) {
    const earlier = byId.get(agent.id)
    if (earlier === undefined) byId.set(agent.id, agent)
    else
      byId.set(agent.id, {
        ...earlier,
        models: [
          ...earlier.models,
          ...agent.models.filter(({ id }) => !earlier.models.some((m) => m.id === id))
        ],
        modes: [...new Set([...earlier.modes, ...agent.modes])]
      })
  }
  return [...byId.values()].toSorted((a, b) => (a.id < b.id ? -1 : 1))
}

export const makeHostPlaces = Effect.fnUntraced(function* ({ reading }: HostCalls) {
  const authority = yield* HubAuthority
  const conversations = yield* AgentConversations
  const inventory = yield* Inventory
  const links = yield* WorkspaceLinks
  const projects = yield* Projects

  const readPlaces = Effect.fnUntraced(function* ({ principal, scope }: HostConnection) {
    const { userId } = principal
    const projectIds =
      scope.projectId === undefined
        ? (yield* projects.list(userId, undefined, MAX_PROJECTS)).map(({ id }) => id)
        : [scope.projectId]
    const targets = new Map(
      (yield* inventory.targets(userId, undefined, undefined, MAX_TARGETS)).map((target) => [
        target.id,
        target
      ])
    )
    const found = yield* Effect.forEach(projectIds, (projectId) =>
      Effect.gen(function* () {
        const proof = yield* authority.inProject("project.read", projectId)
        const linked = yield* links.list(proof, undefined, MAX_LINKS)
        return linked
          .filter((link) => scope.place === undefined || isAt(link, scope.place))
          .map(({ targetId, workspace }): HostPlace => ({
            projectId,
            targetId,
            workspace,
            target: targets.get(targetId)
          }))
      })
    )
    return found.flat()
  })

  const places = (connection: HostConnection) =>
    readPlaces(connection).pipe(reading(connection, "projects.workspaces"))

  /** Places of a workspace. Its name alone does not say in which of several projects, whose members would read what is sent. */
  const placesOf = Effect.fnUntraced(function* (connection: HostConnection, workspace: WorkspaceId) {
    const found = (yield* places(connection)).filter((place) => place.workspace === workspace)
    if (new Set(found.map(({ projectId }) => projectId)).size > 1)
      return yield* new Conflict({
        message: "Several projects have a workspace with this name. Connect to one of them."
      })
    return found
  })

  return {
    places,

    workspaces: (connection: HostConnection) =>
      Effect.map(places(connection), (found) =>
        found.map((place): HostWorkspace => {
          const { modes = [], name = place.workspace } = offeredWorkspace(place) ?? {}
          const { folder = `/${name}` } = connection.scope
          return { id: place.workspace, name, folder, modes: commonModes(undefined, modes) }
        })
      ),

    agents: Effect.fnUntraced(function* (connection: HostConnection) {
      const found = yield* places(connection)
      const used = yield* Effect.forEach(found, (place) =>
        conversations.usedAgents(place.projectId, place)
      ).pipe(reading(connection, "sessions.inventory"))
      const readable = used.flat().map(({ id, label }): HostAgent => ({
        id,
        label,
        description: "not offered now",
        models: [],
        modes: []
      }))
      const offered = found.flatMap(offeredAgents)
      return merged([...offered, ...readable.filter(({ id }) => !offered.some((agent) => agent.id === id))])
    }),

    /** The place of a new session: a workspace whose target offers the agent, an online one first. */
    placeFor: Effect.fnUntraced(function* (
      connection: HostConnection,
      workspace: WorkspaceId,
      agentId: AgentId
    ) {
      const there = yield* placesOf(connection, workspace)
      const offering = there.filter(({ target }) => findAgent(target?.agents, agentId) !== undefined)
      const found = offering.find(({ target }) => target?.state === "online") ?? offering[0] ?? there[0]
      return found ?? (yield* new NotFound())
    }),

    /** The place of a workspace. */
    placeOfWorkspace: Effect.fnUntraced(function* (connection: HostConnection, workspace: WorkspaceId) {
      const [found] = yield* placesOf(connection, workspace)
      return found ?? (yield* new NotFound())
    })
  }
})
export type HostPlaces = Effect.Success<ReturnType<typeof makeHostPlaces>>
