/**
 * Sessions as an editor sees them, those of an Edge or those of a Hub, and the choices of a session for its next messages, as modes and options of the
 * Agent Client Protocol.
 *
 * The protocol depends on this interface only. `EdgeSessions.ts` and `HubSessions.ts` implement it.
 */
import type { SessionConfigOption, SessionModeState } from "@agentclientprotocol/sdk"
import type { RunMode } from "@corral/domain/approval/RunMode"
import type { Workspace } from "@corral/domain/device/Workspace"
import type { RunId } from "@corral/domain/identity/Ids"
import { findAgent } from "@corral/domain/offer/Offer"
import type { Agent } from "@corral/domain/run/Agent"
import { Effect, Option } from "effect"
import { basename, dirname } from "node:path"
import type { AgentOption, ChatThread } from "../chat/ChatThread.ts"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

type Call<A> = Effect.Effect<A, CommandFailed>

export interface OpenedSession {
  readonly id: string
  readonly thread: ChatThread
  /** Modes of the agent in its workspace. */
  readonly modes: ReadonlyArray<RunMode>
  /** Runs in progress, when the session was opened or its history was read. */
  readonly activeRuns: () => ReadonlyArray<RunId>
  /** Folder of the workspace, as the editor knows it. */
  readonly folder: string
}

interface ListedSession {
  readonly id: string
  readonly title: string
  readonly updatedAt: string
}

interface SessionPage {
  readonly sessions: ReadonlyArray<ListedSession>
  readonly nextCursor: string | null
}

/** Sessions as an editor sees them: those of an Edge, or those of a Hub. */
export interface EditorSessions {
  readonly service: "Edge" | "Hub"
  /** Whether messages can have files. */
  readonly acceptsFiles: boolean
  /** Fails if the service does not accept this user now. */
  readonly check: Call<void>
  /** `cwd`: the folder that is open in the editor. */
  readonly create: (cwd: string) => Call<OpenedSession>
  readonly open: (id: string, cwd: string) => Call<OpenedSession>
  readonly list: (cwd: string, cursor: string | undefined) => Call<SessionPage>
}

export const sessionMissing = (id: string): CommandFailed =>
  new CommandFailed({
    message: `Session ${escapeLine(id).slice(0, 100)} was not found, or you don't have access to it.`,
    exitCode: exitCodes.refused,
    code: "not_found"
  })

/** Modes that both the agent and the workspace offer. */
export const offeredModes = (
  agent: Pick<Agent, "modes"> | undefined,
  workspace: Pick<Workspace, "modes"> | undefined
): ReadonlyArray<RunMode> => {
  const modes = workspace?.modes ?? []
  return agent?.modes === undefined ? modes : modes.filter((mode) => agent.modes?.includes(mode) === true)
}

/** The agent that is named, or the first one that is available: the editor shows it as an option and can change it. */
export const agentFor = (agents: ReadonlyArray<Agent>, wanted: Option.Option<string>): Call<Agent> => {
  const found = Option.isSome(wanted)
    ? findAgent(agents, wanted.value)
    : agents.find(({ available }) => available)
  if (found !== undefined) return Effect.succeed(found)
  const ids = agents.filter(({ available }) => available).map(({ id }) => escapeLine(id))
  return Effect.fail(
    refused(
      ids.length === 0
        ? "No agent is available. Install one: `corral doctor` says how."
        : `There is no such agent. Choose one with \`corral acp --agent\`. Available: ${ids.join(", ")}.`
    )
  )
}

const foldersAround = (cwd: string): ReadonlyArray<string> => {
  const parent = dirname(cwd)
  return parent === cwd ? [cwd] : [cwd, ...foldersAround(parent)]
}

/** The folder of this name, which is the open one or around it. */
const folderNamed = (cwd: string, name: string): string | undefined =>
  foldersAround(cwd).find((folder) => basename(folder) === name)

interface PlacedWorkspace<A> {
  readonly workspace: A
  readonly folder: string
}

/**
 * The workspace of the open folder. Services do not say where workspaces are, so it is the one that is named, or the only one with the name of the
 * folder or of a folder around it.
 */
export const workspaceOf = <A extends { readonly id: string; readonly name: string }>(
  workspaces: ReadonlyArray<A>,
  cwd: string,
  wanted: Option.Option<string>,
  acceptsOnly: boolean
): Call<PlacedWorkspace<A>> => {
  const placed = workspaces.map((workspace) => ({ workspace, folder: folderNamed(cwd, workspace.name) }))
  const named = Option.isSome(wanted)
    ? placed.filter(({ workspace }) => workspace.id === wanted.value)
    : placed
  const here = named.filter(({ folder }) => folder !== undefined)
  const candidates = here.length === 0 && (Option.isSome(wanted) || acceptsOnly) ? named : here
  const [found, another] = candidates
  if (found !== undefined && another === undefined)
    return Effect.succeed({ workspace: found.workspace, folder: found.folder ?? cwd })
  const ids = [...new Set(workspaces.map(({ id }) => escapeLine(id)))].join(", ") || "none"
  const isAmbiguous = found !== undefined
  const more = acceptsOnly
    ? " Link others in the console."
    : ` To add one, start Corral with ${ADD_WORKSPACE}.`
  const problem = workspaceProblem(cwd, wanted, isAmbiguous)
  return Effect.fail(refused(`${problem} Available: ${ids}.${isAmbiguous ? "" : more}`))
}

const ADD_WORKSPACE = "`corral up --workspace ID=PATH`"

/** Why no workspace was chosen, and which flag chooses one. */
const workspaceProblem = (cwd: string, wanted: Option.Option<string>, isAmbiguous: boolean): string => {
  if (Option.isSome(wanted)) {
    const id = escapeLine(wanted.value)
    return isAmbiguous
      ? `Several devices have a workspace ${id}. Choose one with \`--target\`.`
      : `There is no workspace ${id}.`
  }
  const problem = isAmbiguous
    ? "More than one workspace has this name"
    : `No workspace is named like ${escapeLine(cwd)}`
  return `${problem}. Choose one with \`--workspace\`.`
}

const modeTexts: Readonly<Record<RunMode, readonly [name: string, description: string]>> = {
  read_only: ["Read only", "The agent reads and changes nothing"],
  plan: ["Plan", "The agent reads, and hands over a plan"],
  ask: ["Ask", "The agent asks before each risky action"],
  auto_edit: ["Edit automatically", "The agent edits files of the workspace without asking"],
  full_access: ["Full access", "The agent does everything without asking"]
}

export const modeState = (current: RunMode, modes: ReadonlyArray<RunMode>): SessionModeState => ({
  currentModeId: current,
  availableModes: [...new Set([...modes, current])].map((id) => {
    const [name, description] = modeTexts[id]
    return { id, name, description }
  })
})

/** The model that the agent chooses itself. */
export const DEFAULT_MODEL = "default"

interface SessionChoices {
  readonly mode: RunMode
  readonly modes: ReadonlyArray<RunMode>
  readonly model: string | undefined
  /** Models that the editor offers. */
  readonly models: ReadonlyArray<string>
  readonly agents: ReadonlyArray<AgentOption>
}

export const configOptions = ({
  agents,
  mode,
  model,
  models,
  modes
}: SessionChoices): Array<SessionConfigOption> => {
  const { availableModes, currentModeId } = modeState(mode, modes)
  const current = agents.find(({ isCurrent }) => isCurrent)
  const names = [...new Set([DEFAULT_MODEL, ...models, ...(model === undefined ? [] : [model])])]
  return [
    {
      type: "select",
      id: "mode",
      name: "Mode",
      category: "mode",
      currentValue: currentModeId,
      options: availableModes.map(({ description = null, id, name }) => ({ value: id, name, description }))
    },
    {
      type: "select",
      id: "model",
      name: "Model",
      category: "model",
      currentValue: model ?? DEFAULT_MODEL,
      options: names.map((value) => ({ value, name: value }))
    },
    ...(current === undefined
      ? []
      : [
          {
            type: "select",
            id: "agent",
            name: "Agent",
            category: "_corral_agent",
            currentValue: current.id,
            options: agents.map(({ about, id, name }) => ({ value: id, name, description: about }))
          } as const
        ])
  ]
}
