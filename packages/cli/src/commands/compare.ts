/**
 * `corral compare`, and `corral run --agents`: several agents on one task. The comparison shows what each used, its checks, and the files that each
 * changed.
 *
 * Only a Hub has groups. A decision is made with `corral accept` and `corral reject`, about the run of a candidate.
 */
import { TaskGroupId } from "@corral/domain/identity/Ids"
import type { TaskGroup } from "@corral/domain/hub-api/TaskGroups"
import { Effect, Queue, Schedule, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { exitCodes, exitWith, refused } from "../CommandFailed.ts"
import { jsonObject, runServerFlags } from "../Flags.ts"
import {
  groupOfRun,
  groupRows,
  groupsOf,
  isBusy,
  letterOf,
  nameOf,
  readGroup,
  stateOf
} from "../run/Candidates.ts"
import { resolveRunId } from "../run/IdArguments.ts"
import type { RunServer } from "../run/RunServer.ts"
import { selectGroupServer } from "../run/SelectRunServer.ts"
import { startGroup } from "../run/StartRun.ts"
import { Host, receiveSignal } from "../terminal/Host.ts"
import { makePaint, paintRow } from "../terminal/Rows.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import type { StartRequest } from "../run/StartRun.ts"

const isGroupId = Schema.is(TaskGroupId)

const show = Effect.fnUntraced(function* (server: RunServer, id: TaskGroupId, json: boolean) {
  const host = yield* Host
  const found = yield* readGroup(yield* groupsOf(server), id)
  if (json) return host.write(`${JSON.stringify(found)}\n`)
  const paint = makePaint(host.colours)
  for (const row of groupRows(found.group, found.comparison)) host.write(`${paintRow(row, paint)}\n`)
})

export const compareCommand = Command.make(
  "compare",
  {
    ...runServerFlags,
    json: jsonObject,
    group: Argument.String("group").pipe(
      Argument.withDescription("Id of the group; or of a run of one of its agents, or its start")
    )
  },
  Effect.fn(function* ({ group, json, ...choice }) {
    if (group.startsWith("tgr_") && !isGroupId(group))
      return yield* refused(`${escapeLine(group)} is not the id of a group. Use the whole id.`)
    const server = yield* selectGroupServer(choice)
    const id = isGroupId(group) ? group : yield* groupOfRun(server, yield* resolveRunId(server)(group))
    yield* show(server, id, json)
  })
).pipe(
  Command.withDescription("Compare what several agents did with one task"),
  Command.withExamples([
    { command: "corral compare tgr_01K…", description: "Checks, time, tokens, cost and changed files" },
    { command: "corral compare run_01K…", description: "The group of a run" }
  ])
)

const LOOK_EVERY = "1 second"
/** Looks for reports and for ends of checks after the last turn has ended. */
const REPORT_LOOKS = 15
const CHECK_LOOKS = 900

/** Follows the group until every candidate has ended, also over a restart of the Hub. Prints a line for each change of a state. */
const followGroup = Effect.fnUntraced(function* (server: RunServer, id: TaskGroupId, json: boolean) {
  const host = yield* Host
  const groups = yield* groupsOf(server)
  const seen = new Map<string, string>()
  const report = ({ candidates }: TaskGroup): void =>
    candidates.forEach((candidate, at) => {
      const state = stateOf(candidate)
      if (seen.get(candidate.task.id) === state) return
      seen.set(candidate.task.id, state)
      const needs = state === "waiting approval" || state === "waiting input"
      const hint =
        needs && candidate.run !== undefined
          ? `. \`${host.invocation} attach ${candidate.run.id}${server.named}\` shows what it waits for.`
          : ""
      if (!json) host.warn(`${letterOf(at)}  ${nameOf(candidate)}: ${state}${hint}\n`)
    })
  let looks = 0
  let isLost = false
  const connection = (lost: boolean): void => {
    if (lost !== isLost) host.warn(lost ? "Connection lost. Reconnecting.\n" : "Reconnected.\n")
    isLost = lost
  }
  // A Hub that restarts: the agents continue meanwhile.
  const look = groups.get(id).pipe(
    Effect.tapError(({ isTransient }) => Effect.sync(() => isTransient === true && connection(true))),
    Effect.retry({ while: ({ isTransient }) => isTransient === true, schedule: Schedule.spaced(LOOK_EVERY) })
  )
  for (;;) {
    const group = yield* look
    connection(false)
    report(group)
    // Checks follow the end of a turn.
    const isChecking = group.candidates.some(
      ({ changes }) => changes?.checks !== undefined && changes.checks.endedAt === undefined
    )
    // So does the report of what it changed. An Edge that is gone reports nothing.
    const isReported = group.candidates.every(
      ({ changes, run }) => run === undefined || changes !== undefined
    )
    if (!group.candidates.some(isBusy)) {
      looks++
      if ((isReported || looks > REPORT_LOOKS) && (!isChecking || looks > CHECK_LOOKS)) return group
    }
    yield* Effect.sleep(LOOK_EVERY)
  }
})

const SAME_PRESS = "300 millis"

/** Ctrl-C stops all candidates. A second one exits without waiting. */
const stopOnCtrlC = Effect.fnUntraced(function* (server: RunServer, id: TaskGroupId) {
  const host = yield* Host
  const groups = yield* groupsOf(server)
  const presses = yield* Queue.unbounded<void>()
  yield* receiveSignal("SIGINT", () => Queue.offerUnsafe(presses, undefined))
  yield* Queue.take(presses)
  host.warn("\nStopping all agents. Press Ctrl-C again to exit without waiting.\n")
  yield* Effect.forkChild(Effect.ignore(groups.stop(id)))
  // npm forwards the Ctrl-C of the terminal, so it arrives twice.
  yield* Effect.sleep(SAME_PRESS)
  yield* Queue.clear(presses)
  yield* Queue.take(presses)
  return yield* exitWith(exitCodes.cancelled)
}, Effect.scoped)

/** Starts several agents on the task, follows them to their ends, and compares them. */
export const runCandidates = Effect.fn("compare.runCandidates")(function* (
  request: StartRequest,
  agents: string,
  json: boolean
) {
  const host = yield* Host
  const { groupId, server } = yield* startGroup(request, agents)
  if (!json) host.warn(`${groupId}\n`)
  const group = yield* Effect.raceFirst(followGroup(server, groupId, json), stopOnCtrlC(server, groupId))
  yield* show(server, groupId, json)
  const isAnyDone = group.candidates.some(({ run }) => run?.state === "completed")
  if (!isAnyDone) return yield* exitWith(exitCodes.failed)
})
