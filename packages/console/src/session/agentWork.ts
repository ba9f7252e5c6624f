/**
 * What an agent of a session does, from the session's turns, runs and queue, and from what its device offers.
 *
 * Pure. What waits for a person comes before everything but a device that is gone: only its answer continues the work.
 */
import type { Target } from "@corral/domain/device/Device"
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { findAgent } from "@corral/domain/offer/Offer"
import type { AgentInstance } from "@corral/domain/run/AgentProfile"
import type { Message } from "@corral/domain/session/Message"
import { heardStatus, type ThreadStatus } from "../thread/ThreadState.tsx"
import { agentOf, type ThreadEntry, type TurnEntry, turnsIn } from "../thread/Turns.ts"

export interface AgentWork {
  /** The turn in progress, or the newest one. */
  readonly turn: TurnEntry | undefined
  readonly run: HubRun | undefined
  /** Messages that wait for the agent. */
  readonly queued: number
}

interface Sources {
  /** Oldest first. */
  readonly entries: ReadonlyArray<ThreadEntry>
  readonly runs: ReadonlyMap<HubRun["id"], HubRun>
  readonly queue: ReadonlyArray<Message>
}

export const workOfAgent = (id: AgentInstance["id"], { entries, queue, runs }: Sources): AgentWork => {
  const turns = turnsIn(entries).filter((turn) => agentOf(turn) === id)
  const turn = turns.findLast(({ answer }) => answer === undefined) ?? turns.at(-1)
  const queued = queue.filter(({ delivery, to }) => to === id && delivery?.state === "pending").length
  return { turn, run: turn === undefined ? undefined : runs.get(turn.runId), queued }
}

/** What an agent needs and no longer has: its device, the workspace or its program. */
export type Absence = "device" | "workspace" | "program"

type Needs = Pick<AgentInstance, "agentId" | "targetId" | "workspace">

/** `targets`: undefined while they load. A list with a further page says nothing about devices that it leaves out. */
export const absenceOf = (
  { agentId, targetId, workspace }: Needs,
  targets: { readonly items: ReadonlyArray<Target>; readonly nextCursor: string | null } | undefined
): Absence | undefined => {
  if (targets === undefined) return undefined
  const target = targets.items.find(({ id }) => id === targetId)
  if (target === undefined) return targets.nextCursor === null ? "device" : undefined
  // What an offline device offers is not known.
  if (target.state === "offline") return undefined
  if (target.workspaces.find(({ id }) => id === workspace)?.available !== true) return "workspace"
  return findAgent(target.agents, agentId)?.available === true ? undefined : "program"
}

export type AgentStatus = ThreadStatus | "held" | "gone"

interface Situation {
  /** State of the turn in progress. */
  readonly live: ThreadStatus | undefined
  readonly absence: Absence | undefined
  readonly isOffline: boolean
  readonly isHeld: boolean
  readonly queued: number
}

export const agentStatus = ({ absence, isHeld, isOffline, live, queued }: Situation): AgentStatus => {
  if (absence === "device") return "gone"
  if (live !== undefined) return heardStatus(live, isOffline)
  if (absence !== undefined) return "gone"
  if (isHeld) return "held"
  if (isOffline) return "offline"
  return queued > 0 ? "queued" : "idle"
}
