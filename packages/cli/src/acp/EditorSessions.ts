/**
 * Sessions as an editor sees them: those of an Edge, or those of a Hub.
 *
 * The protocol depends on this interface only. `EdgeSessions.ts` and `HubSessions.ts` implement it.
 */
import { findAgent } from "@corral/domain/offer/Offer"
import type { RunMode } from "@corral/domain/approval/RunMode"
import type { RunId } from "@corral/domain/identity/Ids"
import type { Agent } from "@corral/domain/run/Agent"
import type { Workspace } from "@corral/domain/device/Workspace"
import { Effect, Option } from "effect"
import { basename, dirname } from "node:path"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import type { ChatThread } from "../chat/ChatThread.ts"
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

export interface ListedSession {
  readonly id: string
  readonly title: string
  readonly updatedAt: string
}

export interface SessionPage {
  readonly sessions: ReadonlyArray<ListedSession>
  readonly nextCursor: string | null
}

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
  const found = Option.isSome(wanted) ? findAgent(agents, wanted.value) : agents.find(({ available }) => available)
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

export interface PlacedWorkspace<A> {
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
  const ids = workspaces.map(({ id }) => escapeLine(id)).join(", ") || "none"
  const problem =
    found === undefined
      ? `No workspace is named like ${escapeLine(cwd)}`
      : "More than one workspace has this name"
  return Effect.fail(refused(`${problem}. Choose one with \`corral acp --workspace\`. Available: ${ids}.`))
}
