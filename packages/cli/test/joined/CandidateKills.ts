/**
 * Groups of candidates whose Hub or Edge is killed between any two steps, in an order that a seed decides; and what must hold all the same: no candidate
 * twice, none lost, all on the same files, and no slot taken for ever.
 */
import type { GroupComparison, GroupOutcome, TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import type { RunId, TaskGroupId, TaskId } from "@corral/domain/identity/Ids"
import type { Run } from "@corral/domain/run/Run"
import { isTerminal } from "@corral/domain/run/RunEnd"
import type { Session } from "@corral/domain/session/Session"
import { isTaskOver, type Task } from "@corral/domain/task/Task"
import { type EdgeOptions, EdgeProcess } from "@corral/testing/edge/EdgeProcess"
import type { Joined } from "@corral/testing/stack/Joined"
import { until } from "@corral/testing/time/Until"
import { assert } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { type Chance, restartEdge, restartHub } from "./Chaos.ts"

/** Fewer than candidates, so that one waits for a slot. */
export const SLOTS = 2
const CANDIDATES = ["small", "large", "other"].map((model) => ({ agentId: "scripted", model }))
const WAIT_MS = 90_000

const git = (folder: string, ...args: ReadonlyArray<string>) =>
  execFileSync("git", ["-c", "user.name=Test", "-c", "user.email=test@example.org", ...args], { cwd: folder })

/** An Edge whose workspace is a repository. */
export const withBase = (options: EdgeOptions): EdgeProcess => {
  const edge = new EdgeProcess(options)
  git(edge.workspace, "init", "-q")
  writeBase(edge, "begin")
  return edge
}

const writeBase = ({ workspace }: EdgeProcess, text: string): void => {
  writeFileSync(join(workspace, "base.txt"), `${text}\n`)
  git(workspace, "add", "-A")
  git(workspace, "commit", "-qm", text)
}

const listOf = async <A>(joined: Joined, path: string): Promise<ReadonlyArray<A>> => {
  const answer = await joined.owner.ask<{ readonly items: ReadonlyArray<A> }>("GET", path)
  assert.strictEqual(answer.status, 200, answer.text)
  return answer.body.items
}

/** Asks until the Hub answers as `holds` wants: it may be killed meanwhile. */
const insist = <A>(
  what: string,
  ask: () => Promise<{ readonly status: number; readonly body: A; readonly text: string }>,
  holds: (answer: { readonly status: number; readonly body: A }) => boolean
): Promise<A> =>
  until(
    async () => {
      const answer = await Promise.resolve()
        .then(ask)
        .catch(() => undefined)
      return answer !== undefined && holds(answer) ? answer.body : undefined
    },
    what,
    WAIT_MS
  )

const groupWith = (joined: Joined, id: TaskGroupId, holds: (group: TaskGroup) => boolean, what: string) =>
  insist(
    what,
    () => joined.owner.ask<TaskGroup>("GET", `/client/task-groups/${id}`),
    ({ body, status }) => status === 200 && holds(body)
  )

export interface GroupKills {
  readonly joined: Joined
  readonly chance: Chance
  readonly isolation: "overlay" | "worktree"
}

/** What a group was put through. */
export type GroupPlan = "finish" | "stop" | "pause" | "continue"

const plans: ReadonlyArray<GroupPlan> = ["finish", "stop", "pause", "continue"]

/** Kills one of the two, or neither. */
const trouble = async ({ chance, joined }: GroupKills): Promise<void> => {
  await pause(chance.below(120))
  const dice = chance.below(5)
  if (dice === 0) await restartHub(joined, chance.below(200))
  else if (dice === 1) await restartEdge(joined)
}

/** One group from its creation to its end. Returns what was done with it. */
export const killGroup = async (kills: GroupKills, round: number): Promise<GroupPlan> => {
  const { chance, isolation, joined } = kills
  writeBase(joined.edge, `round ${round}`)
  const plan = plans[chance.below(plans.length)] ?? "finish"
  const text = `/shell cp base.txt copy.txt\n/sleep ${80 + chance.below(250)}\n/say done`
  const headers = { "idempotency-key": `group-${round}` }
  const request = { text, mode: "full_access", isolation, onOffline: "queue", headers } as const
  const creating = insist(
    `group ${round} created`,
    () => joined.tryTask({ ...request, candidates: CANDIDATES }),
    ({ status }) => status === 201
  )
  await trouble(kills)
  const { groupId } = await creating
  assert.isDefined(groupId)
  // Those that have not started do not see this, unless none has.
  writeBase(joined.edge, `later than ${round}`)
  await trouble(kills)
  if (plan === "pause") for (const name of ["pause", "resume"]) await command(kills, groupId, name)
  if (plan === "stop") await command(kills, groupId, "stop")
  const chosen = plan === "continue" ? await choose(kills, groupId, round) : undefined
  await trouble(kills)
  // A group that was resumed while its Hub was down may have a run that is paused.
  const over = await untilOver(kills, groupId)
  await verify(joined, over, chosen)
  return plan
}

const command = async (kills: GroupKills, id: TaskGroupId, name: string): Promise<void> => {
  const { joined } = kills
  const answer = insist(
    `${name} of the group`,
    () => joined.owner.ask<GroupOutcome>("POST", `/client/task-groups/${id}/${name}`),
    ({ status }) => status === 200
  )
  await trouble(kills)
  await answer
}

const choose = async (kills: GroupKills, id: TaskGroupId, round: number): Promise<TaskId> => {
  const { chance, joined } = kills
  const { candidates } = await groupWith(joined, id, () => true, "the group")
  const taskId = candidates[chance.below(candidates.length)]?.task.id
  assert.isDefined(taskId)
  const headers = { "idempotency-key": `continue-${round}` }
  const answer = insist(
    "a candidate continued",
    () =>
      joined.owner.ask<GroupOutcome>("POST", `/client/task-groups/${id}/continue`, {
        body: { taskId },
        headers
      }),
    ({ status }) => status === 200
  )
  await trouble(kills)
  const { group } = await answer
  assert.strictEqual(group.continuedTaskId, taskId)
  return taskId
}

/** Waits for the end of all candidates. What a killed Hub or Edge left paused is resumed, as a person would. */
const untilOver = async ({ joined }: GroupKills, id: TaskGroupId): Promise<TaskGroup> => {
  await joined.online()
  return until(
    async () => {
      const group = await groupWith(joined, id, () => true, "the group")
      if (group.candidates.some(({ run }) => run?.paused === true))
        await joined.owner.ask("POST", `/client/task-groups/${id}/resume`)
      const isOver = group.candidates.every(
        ({ run, task }) => isTaskOver(task.state) && (run === undefined || isEnded(run.state))
      )
      return isOver ? group : undefined
    },
    `group ${id} over`,
    WAIT_MS
  )
}

const isEnded = (state: string): boolean => state !== "queued" && isTerminal(state as Run["state"])

const verify = async (joined: Joined, group: TaskGroup, chosen: TaskId | undefined): Promise<void> => {
  const { candidates, id, sessionId } = group
  assert.lengthOf(candidates, CANDIDATES.length)
  const tasks = await listOf<Task>(joined, `/client/tasks?sessionId=${sessionId}&limit=200`)
  assert.strictEqual(tasks.filter(({ groupId }) => groupId === id).length, CANDIDATES.length)
  const atHub = new Map(candidates.flatMap(({ run }) => (run === undefined ? [] : [[run.id, run] as const])))
  assert.strictEqual(atHub.size, candidates.filter(({ task }) => task.runId !== undefined).length)
  const atEdge = await edgeRuns(joined, id)
  for (const { id: runId, state } of atEdge)
    assert.strictEqual(atHub.get(runId)?.state, state, `the run ${runId} at the Edge`)
  const completed = candidates.filter(({ run }) => run?.state === "completed")
  assert.isAtLeast(atEdge.length, completed.length)
  await verifyBase(joined, id, new Set(completed.map(({ task }) => task.id)))
  const { body: session } = await joined.owner.ask<Session>("GET", `/client/sessions/${sessionId}`)
  const closed = session.agents.filter(({ closedAt }) => closedAt !== undefined)
  assert.lengthOf(closed, chosen === undefined ? 0 : CANDIDATES.length - 1)
}

/** Runs of the group that the Edge has. */
const edgeRuns = async ({ edge }: Joined, id: TaskGroupId): Promise<ReadonlyArray<Run>> => {
  const answer = await edge.client.ask("GET", "/v1/runs?limit=50")
  assert.strictEqual(answer.status, 200, answer.text)
  // The list of an Edge, as its contract says.
  const { items } = answer.body as { readonly items: ReadonlyArray<Run> }
  return items.filter(({ groupId }) => groupId === id)
}

/** Each candidate has copied what it found: all have found the same. */
const verifyBase = async (joined: Joined, id: TaskGroupId, completed: ReadonlySet<TaskId>) => {
  if (completed.size === 0) return
  const body = await insist(
    "the comparison",
    () => joined.owner.ask<GroupComparison>("GET", `/client/task-groups/${id}/comparison`),
    ({ body, status }) =>
      status === 200 &&
      body.candidates.filter(({ state, taskId }) => state === "compared" && completed.has(taskId)).length ===
        completed.size
  )
  const copies = body.files
    .filter(({ path }) => path === "copy.txt")
    .flatMap(({ changes }) => changes.filter(({ taskId }) => completed.has(taskId)))
  assert.lengthOf(copies, completed.size)
  const results = new Set(copies.map(({ file }) => file.result))
  assert.lengthOf([...results], 1, JSON.stringify(copies))
  assert.isDefined([...results][0])
}

/** All slots are free: as many runs as there are slots, and one more, end. */
export const verifySlots = async (joined: Joined): Promise<ReadonlyArray<RunId>> => {
  const tasks = Array.from({ length: SLOTS + 1 }, () =>
    joined.task({ text: "/sleep 50\n/say free", mode: "full_access" })
  )
  const started = await Promise.all(tasks)
  for (const { runId } of started) await joined.runWith(runId, ({ state }) => state === "completed")
  return started.map(({ runId }) => runId)
}
