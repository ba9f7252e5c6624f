/**
 * Where the messages of a new session go: the project, the device, the workspace and the agent. What has one choice is chosen. A list begins with
 * what the user chose last, in any client.
 */
import type { Target } from "@corral/domain/device/Device"
import type { AgentId, AgentInstanceId, DeviceId, ProjectId, WorkspaceId } from "@corral/domain/identity/Ids"
import { findAgent, currentAgentId } from "@corral/domain/offer/Offer"
import type { LastChoice } from "@corral/domain/preference/Preferences"
import type { Agent } from "@corral/domain/run/Agent"
import type { Isolation, RunMode } from "@corral/domain/run/Run"
import type { Session } from "@corral/domain/session/Session"
import { Effect, Option } from "effect"
import { readAllPages } from "../AllPages.ts"
import { refused } from "../CommandFailed.ts"
import type { HubApiClient } from "../hub/HubClient.ts"
import { thisDevice } from "../hub/SignInFile.ts"
import { itemsNamed, selectByName } from "../run/IdArguments.ts"
import { choose } from "../terminal/Prompts.ts"

export interface AgentPlace {
  readonly projectId: ProjectId
  readonly targetId: DeviceId
  readonly targetName: string
  readonly isOffline: boolean
  readonly workspace: WorkspaceId
  readonly agentId: AgentId
  readonly mode: RunMode
  /** Where the agent writes; `undefined` for the project's default. */
  readonly isolation?: Isolation | undefined
  /** Agent of the session; `undefined` until it is added. */
  readonly instanceId: AgentInstanceId | undefined
}

/** What the command line names. */
export interface PlaceFlags {
  readonly project: Option.Option<string>
  readonly target: Option.Option<string>
  readonly workspace: Option.Option<string>
  readonly agent: Option.Option<string>
  readonly mode: Option.Option<RunMode>
  readonly isolation?: Option.Option<Isolation>
}

/** Selects by name, or asks the user. */
const select = Effect.fnUntraced(function* <A extends { readonly id: string; readonly name: string }>(
  what: string,
  flag: string,
  all: ReadonlyArray<A>,
  wanted: Option.Option<string>,
  isInteractive: boolean
) {
  const matching = Option.isSome(wanted) ? itemsNamed(all, wanted.value) : all
  return isInteractive && matching.length > 1
    ? yield* choose(
        `Choose ${what}`,
        matching.map((value) => ({ title: value.name, value }))
      )
    : yield* selectByName(what, flag, all, Option.getOrUndefined(wanted))
})

/** The items that were chosen last, in that order, then the others. */
export const latestFirst = <A extends { readonly id: string }>(
  all: ReadonlyArray<A>,
  latest: ReadonlyArray<string | undefined>
): ReadonlyArray<A> => {
  const rankOf = ({ id }: A): number => (latest.includes(id) ? latest.indexOf(id) : latest.length)
  return all.toSorted((a, b) => rankOf(a) - rankOf(b))
}

const named = <A extends { readonly id: string }>(item: A, name: string = item.id) => ({ ...item, name })

const agentName = ({ id, label }: Agent): string => (label === id ? id : `${id} (${label})`)

/** The agent, among the available ones. */
export const selectAgent = Effect.fnUntraced(function* (
  agents: ReadonlyArray<Agent>,
  wanted: Option.Option<string>,
  isInteractive: boolean
) {
  if (Option.isSome(wanted)) {
    const found = findAgent(agents, wanted.value)
    return (
      found ??
      (yield* selectByName(
        "agent",
        "--agent",
        agents.map((each) => named(each)),
        wanted.value
      ))
    )
  }
  const available = agents.filter((each) => each.available)
  return isInteractive && available.length > 1
    ? yield* choose(
        "Choose an agent",
        available.map((value) => ({ title: agentName(value), value }))
      )
    : yield* selectByName(
        "agent",
        "--agent",
        available.map((each) => named(each))
      )
})

/** Devices and workspaces of a project, this machine's first. */
const placesOf = Effect.fnUntraced(function* (
  calls: HubApiClient,
  projectId: ProjectId,
  { target, workspace }: PlaceFlags,
  last: LastChoice | undefined,
  isInteractive: boolean
) {
  const links = yield* readAllPages((query) =>
    calls.projects.workspaces({ params: { id: projectId }, query })
  )
  const targets = yield* readAllPages((query) => calls.devices.targets({ query: { ...query, projectId } }))
  const linked = links.items.filter((link) => Option.isNone(workspace) || link.workspace === workspace.value)
  const withLinks = targets.items.filter(({ id }) => linked.some(({ targetId }) => targetId === id))
  if (withLinks.length === 0)
    return yield* refused(
      Option.isSome(workspace)
        ? `Workspace ${workspace.value} is not linked to the project.`
        : "The project has no linked workspace. Link one in the console."
    )
  const machine = yield* thisDevice
  const here = withLinks.filter(({ id }) => id === machine?.deviceId)
  const candidates: ReadonlyArray<Target> = Option.isNone(target) && here.length > 0 ? here : withLinks
  const device = yield* select(
    "device",
    "--target",
    latestFirst(candidates, [last?.targetId]),
    target,
    isInteractive
  )
  const folders = linked
    .filter(({ targetId }) => targetId === device.id)
    .map((link) => named({ ...link, id: link.workspace }))
  const folder = yield* select(
    "workspace",
    "--workspace",
    latestFirst(folders, [last?.workspace]),
    workspace,
    isInteractive
  )
  return { device, workspace: folder.workspace }
})

/** Of the user's preferences. A list can begin with anything. */
const lastChoicesOf = (calls: HubApiClient): Effect.Effect<ReadonlyArray<LastChoice>> =>
  calls.preferences.get().pipe(
    Effect.map(({ lastChoices = [] }) => lastChoices),
    Effect.orElseSucceed(() => [])
  )

/** Place of a new session. */
export const selectPlace = Effect.fn("HubPlace.select")(function* (
  calls: HubApiClient,
  flags: PlaceFlags,
  isInteractive: boolean
) {
  const projects = yield* readAllPages((query) => calls.projects.list({ query }))
  const choices = isInteractive ? yield* lastChoicesOf(calls) : []
  const ordered = latestFirst(
    projects.items,
    choices.map(({ projectId }) => projectId)
  )
  const project = yield* select("project", "--project", ordered, flags.project, isInteractive)
  const last = choices.find(({ projectId }) => projectId === project.id)
  const { device, workspace } = yield* placesOf(calls, project.id, flags, last, isInteractive)
  const agent = yield* selectAgent(
    latestFirst(device.agents, [last?.agentId && currentAgentId(last.agentId)]),
    flags.agent,
    isInteractive
  )
  return {
    projectId: project.id,
    targetId: device.id,
    targetName: device.name,
    isOffline: device.state !== "online",
    workspace,
    agentId: agent.id,
    mode: Option.getOrElse(flags.mode, () => "ask" as const),
    isolation: flags.isolation && Option.getOrUndefined(flags.isolation),
    instanceId: undefined
  } satisfies AgentPlace
})

/** Place of the default agent of a session; `undefined` if it has none. */
export const placeOfSession = Effect.fnUntraced(function* (calls: HubApiClient, session: Session) {
  const { agents, defaultAgentInstanceId, projectId } = session
  const instance = agents.find(({ id }) => id === defaultAgentInstanceId) ?? agents.at(-1)
  if (instance === undefined) return undefined
  const { agentId, id, isolation, mode, targetId, workspace } = instance
  const targets = yield* readAllPages((query) => calls.devices.targets({ query: { ...query, projectId } }))
  const device = targets.items.find((each) => each.id === targetId)
  return {
    projectId,
    targetId,
    targetName: device?.name ?? "a device",
    isOffline: device?.state !== "online",
    workspace,
    agentId,
    mode,
    isolation,
    instanceId: id
  } satisfies AgentPlace
})
