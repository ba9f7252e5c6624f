/**
 * Candidates on the command line: several agents as a user names them, and a group as lines: its candidates, and their changes by file. Control
 * characters are shown as symbols.
 */
import type {
  ComparedFile,
  GroupCandidate,
  GroupComparison,
  TaskGroup
} from "@corral/domain/hub-api/TaskGroups"
import type { AgentId, RunId, TaskGroupId } from "@corral/domain/identity/Ids"
import type { CheckResult } from "@corral/domain/run/Check"
import { type Candidate, isTaskOver, MAX_CANDIDATES, MIN_CANDIDATES } from "@corral/domain/task/Task"
import { Effect } from "effect"
import { type CommandFailed, refused } from "../CommandFailed.ts"
import type { Row, TextSpan } from "../terminal/Rows.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import { type GroupCalls, hasEnded, type RunServer, type ServerCall } from "./RunServer.ts"

/** Reads `claude-code,codex:gpt-5`: agents, each with a model after the first colon. */
export const parseCandidates = (text: string): Effect.Effect<ReadonlyArray<Candidate>, CommandFailed> => {
  const candidates = text
    .split(",")
    .map((each) => each.trim())
    .filter((each) => each !== "")
    .map((each): Candidate => {
      const at = each.indexOf(":")
      const [agentId, model] = at === -1 ? [each, ""] : [each.slice(0, at), each.slice(at + 1)]
      // The service validates the id.
      return { agentId: agentId as AgentId, ...(model === "" ? {} : { model }) }
    })
  const { length } = candidates
  const names = candidates.map(({ agentId, model = "" }) => `${agentId}:${model}`)
  if (length >= MIN_CANDIDATES && length <= MAX_CANDIDATES && new Set(names).size === length)
    return Effect.succeed(candidates)
  return Effect.fail(
    refused(
      `Name ${MIN_CANDIDATES} to ${MAX_CANDIDATES} different agents, such as --agents claude-code,codex or --agents claude-code:opus,claude-code:sonnet.`
    )
  )
}

/** The groups of a server. An Edge alone has none. */
export const groupsOf = ({ groups }: RunServer): ServerCall<GroupCalls> =>
  groups === undefined
    ? Effect.fail(
        refused("Several agents for one task need a Hub. Use --project, or link this machine to a Hub.")
      )
    : Effect.succeed(groups)

const RUNS = 200

/** The group of a run, or the newest one of its session. */
export const groupOfRun = Effect.fn("Candidates.groupOfRun")(function* (
  server: RunServer,
  id: RunId
): Effect.fn.Return<TaskGroupId, CommandFailed> {
  const run = yield* server.run(id)
  if (run.groupId !== undefined) return run.groupId
  const { items } = yield* server.runs({ limit: RUNS })
  const found = items.find(
    ({ groupId, sessionId }) =>
      groupId !== undefined && run.sessionId !== undefined && sessionId === run.sessionId
  )
  return found?.groupId ?? (yield* refused(`Run ${id} is not one of several agents for the same task.`))
})

/** Place of a candidate in its group, as people name it: A, B, C. */
export const letterOf = (at: number): string => String.fromCodePoint(65 + at)

/** Whether the candidate works, or waits to do so. */
export const isBusy = ({ run, task }: Pick<GroupCandidate, "run" | "task">): boolean =>
  run === undefined ? !isTaskOver(task.state) : !hasEnded(run.state)

/** State of the candidate's run, or of its task. */
export const stateOf = ({ run, task }: Pick<GroupCandidate, "run" | "task">): string => {
  if (run === undefined) return task.state
  return run.paused === true && !hasEnded(run.state) ? "paused" : run.state.replaceAll("_", " ")
}

/** Agent and model. The label of an agent with a model has its name. */
export const nameOf = ({ label, task: { model } }: Pick<GroupCandidate, "label" | "task">): string =>
  escapeLine(model === undefined || label.endsWith(`(${model})`) ? label : `${label} (${model})`)

const plural = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`

const checkStyles: Readonly<Record<CheckResult["state"], TextSpan["style"]>> = {
  waiting: "dim",
  running: "dim",
  passed: "green",
  failed: "red",
  timed_out: "red",
  stopped: "yellow",
  unavailable: "yellow"
}

const checkSpans = ({ changes }: GroupCandidate): ReadonlyArray<TextSpan> =>
  (changes?.checks?.results ?? []).flatMap(({ name, state }) => [
    { text: "  " },
    { text: `${escapeLine(name)} ${state.replaceAll("_", " ")}`, style: checkStyles[state] }
  ])

const changesText = ({ changes, removedAt }: GroupCandidate): string => {
  if (removedAt !== undefined) return "changes removed"
  if (changes === undefined) return "no changes yet"
  const { additions, deletions, fileCount } = changes
  return fileCount === 0 ? "nothing undecided" : `${plural(fileCount, "file")} +${additions} -${deletions}`
}

const secondsText = (ms: number): string => {
  const seconds = Math.round(ms / 1_000)
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m ${seconds % 60}s`
}

const useText = ({ durationMs, usage }: GroupCandidate): string => {
  const tokens = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0)
  const cost = usage?.costUsd
  return [
    ...(durationMs > 0 ? [secondsText(durationMs)] : []),
    ...(tokens > 0 ? [plural(tokens, "token")] : []),
    ...(cost === undefined ? [] : [`$${cost.toFixed(cost < 1 ? 4 : 2)}`])
  ].join("  ")
}

/** A row for each candidate: state, changes, time, tokens, cost, checks, and the run whose changes are decided. */
export const candidateRows = (group: TaskGroup): ReadonlyArray<Row> => {
  const { candidates, continuedTaskId } = group
  const widest = (texts: ReadonlyArray<string>) => Math.max(...texts.map(({ length }) => length))
  const [names, states, changes] = [
    candidates.map(nameOf),
    candidates.map(stateOf),
    candidates.map(changesText)
  ]
  return candidates.map((candidate, at): Row => {
    const { changes: set, closed, run, task } = candidate
    const runId = set?.runId ?? run?.id
    const note = task.id === continuedTaskId ? "  continued" : closed === true ? "  closed" : ""
    return [
      { text: `${letterOf(at)}  `, style: "bold" },
      { text: `${(names[at] ?? "").padEnd(widest(names))}  ` },
      { text: `${(states[at] ?? "").padEnd(widest(states))}  ` },
      { text: (changes[at] ?? "").padEnd(widest(changes)) },
      { text: `  ${useText(candidate)}`.trimEnd(), style: "dim" },
      ...checkSpans(candidate),
      { text: note, style: "cyan" },
      ...(runId === undefined ? [] : [{ text: `  ${runId}`, style: "dim" } as const])
    ]
  })
}

const cellOf = ({ changes }: ComparedFile, { task }: GroupCandidate, group: TaskGroup): string => {
  const found = changes.find(({ taskId }) => taskId === task.id)
  if (found === undefined) return "-"
  const equal = changes.find(({ file }) => file.version === found.file.version)
  if (equal !== undefined && equal.taskId !== task.id)
    return `= ${letterOf(group.candidates.findIndex((each) => each.task.id === equal.taskId))}`
  const { additions, deletions, status } = found.file
  return status === "modified" ? `+${additions} -${deletions}` : `${status} +${additions} -${deletions}`
}

/** Changed files by candidate. Files that all changed in the same way are one row. */
export const comparedRows = (group: TaskGroup, comparison: GroupComparison): ReadonlyArray<Row> => {
  const different = comparison.files.filter(({ same }) => same !== true)
  const same = comparison.files.filter((file) => file.same === true)
  const cells = different.map((file) => group.candidates.map((candidate) => cellOf(file, candidate, group)))
  const width = Math.max(6, ...cells.flat().map(({ length }) => length)) + 2
  const dim = (text: string): Row => [{ text, style: "dim" }]
  return [
    ...comparison.candidates.flatMap(({ reason = "", state, taskId, truncated }): ReadonlyArray<Row> => {
      const letter = letterOf(group.candidates.findIndex(({ task }) => task.id === taskId))
      if (state === "failed")
        return [[{ text: `${letter}: not compared. ${escapeLine(reason)}`, style: "yellow" }]]
      return truncated === true
        ? [[{ text: `${letter}: only its first files are compared.`, style: "yellow" }]]
        : []
    }),
    ...(different.length === 0
      ? []
      : [
          [
            {
              text: group.candidates.map((_, at) => letterOf(at).padEnd(width)).join(""),
              style: "bold"
            } as const
          ]
        ]),
    ...different.map(({ path }, at): Row => [
      { text: (cells[at] ?? []).map((cell) => cell.padEnd(width)).join("") },
      { text: escapeLine(path) }
    ]),
    ...(same.length === 0
      ? []
      : [dim(`the same by all: ${same.map(({ path }) => escapeLine(path)).join(", ")}`)]),
    ...(comparison.files.length === 0 ? [dim("There are no undecided changes.")] : [])
  ]
}

/** The group and its comparison. */
export const groupRows = (group: TaskGroup, comparison: GroupComparison): ReadonlyArray<Row> => [
  [
    { text: group.id, style: "bold" },
    { text: `  in ${escapeLine(group.workspace)}, ${group.isolation}`, style: "dim" }
  ],
  ...candidateRows(group),
  [],
  ...comparedRows(group, comparison)
]

/** Reads the group and its comparison. */
export const readGroup = (groups: GroupCalls, id: TaskGroupId) =>
  Effect.all({ group: groups.get(id), comparison: groups.compare(id) })
