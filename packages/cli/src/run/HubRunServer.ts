/**
 * Run server of a Hub. A run starts as a task of a project, on a device with the workspace. A project or device that is not named is selected if
 * there is only one. Secret answers are sealed for the Edge that runs the agent.
 */
import { CorralError } from "@corral/client/http/CorralError"
import { sealSecrets } from "@corral/client/run/sealSecrets"
import type { Device } from "@corral/domain/device/Device"
import type { InputAnswer, InputRequest } from "@corral/domain/input/InputRequest"
import type { Project } from "@corral/domain/project/Project"
import type { Candidate, Task } from "@corral/domain/task/Task"
import { Effect, Option, Schedule, Stream } from "effect"
import { randomUUID } from "node:crypto"
import { readAllPages } from "../AllPages.ts"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import type { RunServerChoice } from "../Flags.ts"
import { connectToSignedInHub, type HubApiClient, memberNames, userNaming } from "../hub/HubClient.ts"
import { Host } from "../terminal/Host.ts"
import { withProgress } from "../terminal/Progress.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import type { ChangesServer } from "./ChangeParts.ts"
import { type GroupCalls, type RunServer, type StartRun, textRequest } from "./RunServer.ts"
import { selectByName } from "./IdArguments.ts"
import { sendChangesDecision } from "./RunServer.ts"

/** The answer, with each plain text of a secret question sealed. */
const sealAnswer = (request: InputRequest, answer: InputAnswer): Effect.Effect<InputAnswer, CommandFailed> =>
  Effect.tryPromise({
    try: () => sealSecrets(request, answer),
    catch: (error) =>
      refused(
        error instanceof CorralError ? error.message : "The secret could not be sealed. Nothing was sent."
      )
  })

/** Finds the named project, or the only one. */
export const findProject = (
  calls: HubApiClient,
  wanted: Option.Option<string>
): Effect.Effect<Project, CommandFailed> =>
  readAllPages((query) => calls.projects.list({ query })).pipe(
    Effect.flatMap(({ items }) => selectByName("project", "--project", items, Option.getOrUndefined(wanted)))
  )

/** Finds the device whose workspace is linked to the project. */
const findTarget = Effect.fnUntraced(function* (calls: HubApiClient, id: Project["id"], run: StartRun) {
  const links = yield* readAllPages((query) => calls.projects.workspaces({ params: { id }, query }))
  const linked = links.items.filter(({ workspace }) => workspace === run.workspace)
  if (linked.length === 0) {
    const linkedIds = [...new Set(links.items.map(({ workspace }) => workspace))].join(", ") || "none"
    return yield* refused(
      `Workspace ${escapeLine(run.workspace)} is not linked to the project. Linked workspaces: ${linkedIds}.`
    )
  }
  const targets = yield* readAllPages((query) =>
    calls.devices.targets({ query: { ...query, projectId: id } })
  )
  const candidates = targets.items.filter((target) => linked.some(({ targetId }) => targetId === target.id))
  return yield* selectByName("device", "--target", candidates, run.target)
})

/** Linked workspaces of the project, and agents of the devices that are online. */
const readChoices = Effect.fnUntraced(function* (calls: HubApiClient, projectId: Project["id"]) {
  const links = yield* readAllPages((query) =>
    calls.projects.workspaces({ params: { id: projectId }, query })
  )
  const targets = yield* readAllPages((query) => calls.devices.targets({ query: { ...query, projectId } }))
  const online = targets.items.filter(({ state }) => state === "online")
  const agents = online.flatMap((target) => target.agents.filter(({ available }) => available))
  return {
    workspaces: [...new Set(links.items.map(({ workspace }) => workspace))],
    agents: [...new Set(agents.map(({ id }) => id))]
  }
})

const taskFailure = ({ error, state }: Task): CommandFailed =>
  state === "failed"
    ? new CommandFailed({
        message: `The device rejected the run. Nothing was started. ${escapeLine(error?.message ?? "No reason was reported.")}`,
        exitCode: exitCodes.refused,
        code: error?.code
      })
    : new CommandFailed({
        message: `The task is ${state}. Nothing was started.`,
        exitCode: state === "cancelled" ? exitCodes.cancelled : exitCodes.failed,
        code: error?.code
      })

/** Waits until the target has started a run for the task. */
const awaitRun = (calls: HubApiClient, task: Task, target: Pick<Device, "name" | "state">) => {
  const look = Effect.flatMap(calls.tasks.get({ params: { id: task.id } }), (current) => {
    // The run of a pending task is only offered: the device can still reject it.
    if (current.runId !== undefined && current.state !== "pending") return Effect.succeed(current.runId)
    const isOver = current.state === "failed" || current.state === "cancelled" || current.state === "expired"
    return isOver ? Effect.fail(taskFailure(current)) : Effect.undefined
  })
  return look.pipe(
    Effect.repeat({ until: (id) => id !== undefined, schedule: Schedule.spaced("100 millis") }),
    Effect.flatMap((id) =>
      id === undefined ? Effect.fail(refused("The task ended without a run.")) : Effect.succeed(id)
    ),
    withProgress(
      `waiting for ${target.state === "online" ? "" : "offline device "}${escapeLine(target.name)}`
    ),
    Effect.onInterrupt(() => cancelTask(calls, task))
  )
}

/** Cancels the task when the user stops waiting for it. */
const cancelTask = Effect.fnUntraced(function* (calls: HubApiClient, { id }: Task) {
  const host = yield* Host
  host.warn("Cancelling the task. Press Ctrl-C again to exit without waiting.\n")
  yield* calls.tasks.cancel({ params: { id } }).pipe(
    Effect.match({
      onSuccess: () => host.warn("Task cancelled.\n"),
      onFailure: ({ message }) => host.warn(`Can't cancel task ${id}. It may still start. ${message}\n`)
    })
  )
})

/** Commands to one run. */
const runCalls = (calls: HubApiClient) =>
  ({
    send: (id, text) => Effect.asVoid(calls.runs.input(textRequest(id, text))),
    finish: (id) => calls.runs.finish({ params: { id } }),
    cancel: (id) => calls.runs.cancel({ params: { id } }),
    pause: (id) => calls.runs.pause({ params: { id } }),
    resume: (id) => calls.runs.resume({ params: { id } })
  }) satisfies Pick<RunServer, "send" | "finish" | "cancel" | "pause" | "resume">

/** Changes of a run, and decisions about them. */
const changeCalls = (calls: HubApiClient): ChangesServer => ({
  changes: (id) => readAllPages((query) => calls.changeSets.get({ params: { id }, query })),
  changedFile: (id, fileId) =>
    readAllPages((query) => calls.changeSets.file({ params: { id, fileId }, query })),
  decideChanges: (id, decision) => sendChangesDecision(calls.changeSets, id, decision)
})

/** A task that can be created, and its device. */
const preparedTask = Effect.fnUntraced(function* (
  calls: HubApiClient,
  project: Effect.Effect<Project, CommandFailed>,
  run: StartRun,
  candidates?: ReadonlyArray<Candidate>
) {
  const { id: projectId } = yield* project
  const target = yield* findTarget(calls, projectId, run)
  const { key = randomUUID(), queue, target: _, ...rest } = run
  const payload = {
    ...rest,
    projectId,
    targetId: target.id,
    ...(candidates === undefined ? {} : { candidates }),
    ...(queue ? { onOffline: "queue" as const } : {})
  }
  const create = calls.tasks.create({ headers: { "idempotency-key": key }, payload }).pipe(
    Effect.mapError((refusal) =>
      refusal.code === "target_offline"
        ? new CommandFailed({
            ...refusal,
            message: `${escapeLine(target.name)} is offline. Use --queue to wait for it.`
          })
        : refusal
    )
  )
  return { create, target }
})

/** Groups of candidates. */
const groupCalls = (calls: HubApiClient, project: Effect.Effect<Project, CommandFailed>): GroupCalls => ({
  start: Effect.fnUntraced(function* (run, candidates) {
    const { create } = yield* preparedTask(calls, project, run, candidates)
    const { groupId } = yield* create
    return groupId ?? (yield* refused("The Hub is too old to start several agents."))
  }),
  get: (id) => calls.taskGroups.get({ params: { id } }),
  compare: (id) => calls.taskGroups.comparison({ params: { id } }),
  stop: (id) => calls.taskGroups.stop({ params: { id } })
})

/** Questions, and answers to them. */
const inputCalls = (
  calls: HubApiClient,
  projectFilter: Effect.Effect<{ readonly projectId?: Project["id"] }, CommandFailed>
) =>
  ({
    inputs: Effect.flatMap(projectFilter, (filter) =>
      readAllPages((query) => calls.inputs.list({ query: { ...query, ...filter, state: "pending" } }))
    ).pipe(Effect.map(({ items }) => items)),
    input: (id) => calls.inputs.get({ params: { id } }),
    answer: Effect.fnUntraced(function* (id, answer) {
      const request = yield* calls.inputs.get({ params: { id } })
      const payload = yield* sealAnswer(request, answer)
      const headers = { "idempotency-key": randomUUID() }
      return yield* calls.inputs.answer({ params: { id }, headers, payload })
    })
  }) satisfies Pick<RunServer, "inputs" | "input" | "answer">

export const hubRunServer = Effect.fn("HubRunServer.open")(function* (choice: RunServerChoice) {
  const { calls, hub, token, userId } = yield* connectToSignedInHub(choice.hub)
  const host = yield* Host
  const project = findProject(calls, choice.project)
  const projectFilter = Option.isNone(choice.project)
    ? Effect.succeed({})
    : Effect.map(project, ({ id }) => ({ projectId: id }))
  const start = Effect.fnUntraced(function* (run: StartRun) {
    const { create, target } = yield* preparedTask(calls, project, run)
    // Uninterruptible until the task id is known, so that Ctrl-C can cancel the task.
    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(create, (task) => restore(awaitRun(calls, task, target)))
    ).pipe(Effect.provideService(Host, host))
  })
  return {
    stream: Effect.succeed({ url: hub, token, service: "Hub" as const }),
    named: Option.isSome(choice.hub) || Option.isSome(choice.project) ? ` --hub ${hub}` : "",
    carriesOutPlans: true,
    start,
    naming: (id) =>
      calls.runs.get({ params: { id } }).pipe(
        Effect.flatMap(({ projectId }) => memberNames(calls, projectId)),
        Effect.map((names) => userNaming({ userId }, names)),
        Effect.orElseSucceed(() => (user: string) => user)
      ),
    run: (id) => calls.runs.get({ params: { id } }),
    runs: ({ state, ...page }) =>
      Effect.flatMap(projectFilter, (filter) =>
        calls.runs.list({ query: { ...page, ...filter, ...(state === undefined ? {} : { state }) } })
      ),
    approvals: Effect.flatMap(projectFilter, (filter) =>
      readAllPages((query) => calls.approvals.list({ query: { ...query, ...filter, state: "pending" } }))
    ).pipe(Effect.map(({ items }) => items)),
    choices: Effect.flatMap(project, ({ id }) => readChoices(calls, id)),
    ...runCalls(calls),
    decide: (id, payload) =>
      calls.approvals.decide({ params: { id }, headers: { "idempotency-key": randomUUID() }, payload }),
    ...inputCalls(calls, projectFilter),
    diff: (id) => readAllPages((query) => calls.runs.diff({ params: { id }, query })),
    ...changeCalls(calls),
    groups: groupCalls(calls, project),
    artifacts: (id) =>
      readAllPages((query) => calls.runs.artifacts({ params: { id }, query })).pipe(
        Effect.map(({ items }) => items)
      ),
    content: (id, artifactId) =>
      calls.runs
        .artifactContent({ params: { id, artifactId } })
        .pipe(
          Effect.map(
            Stream.mapError(() => refused("The download of the artifact was interrupted. Try again."))
          )
        )
  } satisfies RunServer
})
