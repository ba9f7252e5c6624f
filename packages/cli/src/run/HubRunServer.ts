/**
 * A Hub as a server of runs: what is started is a task of a project, for a device that has the workspace. What is not named is taken where
 * there is one alone.
 */
import type { Device } from "@corral/domain/device/Device"
import type { Project } from "@corral/domain/project/Project"
import type { Task } from "@corral/domain/task/Task"
import { Effect, Option, Schedule, Stream } from "effect"
import { randomUUID } from "node:crypto"
import { CommandFailed, exitCodes, refused } from "../CommandFailed.ts"
import { callApi } from "../edge/EdgeClient.ts"
import type { RunServerChoice } from "../Flags.ts"
import type { HubApiClient } from "../hub/HubClient.ts"
import { Host } from "../terminal/Host.ts"
import { readAllPages } from "../AllPages.ts"
import type { RunServer, StartRun } from "./RunServer.ts"
import { withProgress } from "../terminal/Progress.ts"
import { connectToSignedInHub } from "../hub/SignedInHub.ts"
import { escapeLine } from "../terminal/VisibleText.ts"

interface Named {
  readonly id: string
  readonly name: string
}

const formatNames = (all: ReadonlyArray<Named>): string =>
  all.map(({ id, name }) => `${escapeLine(name)} (${id})`).join(", ") || "none"

/** The one of that id or name; the only one where none is named. */
const selectByName = <A extends Named>(
  what: string,
  flag: string,
  all: ReadonlyArray<A>,
  wanted?: string
) => {
  const fitting = wanted === undefined ? all : all.filter(({ id, name }) => id === wanted || name === wanted)
  const [one] = fitting
  if (one !== undefined && fitting.length === 1) return Effect.succeed(one)
  const problem =
    wanted === undefined
      ? `Which ${what}? Name it with ${flag}.`
      : `${fitting.length === 0 ? "No" : "More than one"} ${what} is called ${escapeLine(wanted)}.`
  return Effect.fail(refused(`${problem} There are: ${formatNames(all)}.`))
}

/** The project that is named, or the only one. */
export const findProject = (
  calls: HubApiClient,
  wanted: Option.Option<string>
): Effect.Effect<Project, CommandFailed> =>
  readAllPages((query) => callApi(calls.projects.list({ query }))).pipe(
    Effect.flatMap(({ items }) => selectByName("project", "--project", items, Option.getOrUndefined(wanted)))
  )

/** The device on which that workspace is linked to the project. */
const findTarget = Effect.fnUntraced(function* (calls: HubApiClient, id: Project["id"], run: StartRun) {
  const links = yield* readAllPages((query) => callApi(calls.projects.workspaces({ params: { id }, query })))
  const linked = links.items.filter(({ workspace }) => workspace === run.workspace)
  if (linked.length === 0) {
    const there = [...new Set(links.items.map(({ workspace }) => workspace))].join(", ") || "none"
    return yield* refused(
      `No workspace ${escapeLine(run.workspace)} is linked to the project. Linked are: ${there}.`
    )
  }
  const targets = yield* readAllPages((query) =>
    callApi(calls.devices.targets({ query: { ...query, projectId: id } }))
  )
  const having = targets.items.filter((target) => linked.some(({ targetId }) => targetId === target.id))
  return yield* selectByName("device", "--target", having, run.target)
})

const taskFailure = ({ error, state }: Task): CommandFailed =>
  state === "failed"
    ? new CommandFailed({
        message: `The run was refused, and nothing was started: ${escapeLine(error?.message ?? "the device gave no reason.")}`,
        exitCode: exitCodes.refused,
        code: error?.code
      })
    : new CommandFailed({
        message: `The task is ${state}. Nothing was started.`,
        exitCode: state === "cancelled" ? exitCodes.cancelled : exitCodes.failed,
        code: error?.code
      })

/** Until the target has made a run of it. */
const awaitRun = (calls: HubApiClient, made: Task, target: Pick<Device, "name" | "state">) => {
  const look = Effect.flatMap(callApi(calls.tasks.get({ params: { id: made.id } })), (task) => {
    // While it is pending, its run is an offer: where the device refuses it, there is no such run.
    if (task.runId !== undefined && task.state !== "pending") return Effect.succeed(task.runId)
    const over = task.state === "failed" || task.state === "cancelled" || task.state === "expired"
    return over ? Effect.fail(taskFailure(task)) : Effect.undefined
  })
  return look.pipe(
    Effect.repeat({ until: (id) => id !== undefined, schedule: Schedule.spaced("100 millis") }),
    Effect.flatMap((id) =>
      id === undefined ? Effect.fail(refused("The task has made no run.")) : Effect.succeed(id)
    ),
    withProgress(
      `waiting for ${target.state === "online" ? "" : "an offline device, "}${escapeLine(target.name)}`
    ),
    Effect.onInterrupt(() => cancelTask(calls, made))
  )
}

/** Whoever does not wait for a task does not want it. */
const cancelTask = Effect.fnUntraced(function* (calls: HubApiClient, { id }: Task) {
  const host = yield* Host
  host.warn("Cancelling the task; Ctrl-C again leaves it.\n")
  yield* callApi(calls.tasks.cancel({ params: { id } })).pipe(
    Effect.match({
      onSuccess: () => host.warn("The task is cancelled.\n"),
      onFailure: ({ message }) => host.warn(`The task ${id} may still be done: ${message}\n`)
    })
  )
})

export const hubRunServer = Effect.fn("HubPlace.hubPlace")(function* (choice: RunServerChoice) {
  const { calls, hub, token } = yield* connectToSignedInHub(choice.hub)
  const host = yield* Host
  const project = findProject(calls, choice.project)
  const ofProject = Option.isNone(choice.project)
    ? Effect.succeed({})
    : Effect.map(project, ({ id }) => ({ projectId: id }))
  const start = Effect.fnUntraced(function* (run: StartRun) {
    const { id: projectId } = yield* project
    const target = yield* findTarget(calls, projectId, run)
    const { queue, target: _, ...asks } = run
    const payload = {
      ...asks,
      projectId,
      targetId: target.id,
      ...(queue ? { onOffline: "queue" as const } : {})
    }
    const headers = { "idempotency-key": randomUUID() }
    const create = callApi(calls.tasks.create({ headers, payload })).pipe(
      Effect.mapError((refusal) =>
        refusal.code === "target_offline"
          ? new CommandFailed({
              ...refusal,
              message: `${escapeLine(target.name)} is offline: --queue waits for it.`
            })
          : refusal
      )
    )
    // What may have been made is known before Ctrl-C is heard, so that it can be taken back.
    return yield* Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(create, ({ body }) => restore(awaitRun(calls, body, target)))
    ).pipe(Effect.provideService(Host, host))
  })
  return {
    stream: Effect.succeed({ url: hub, token, service: "Hub" as const }),
    named: Option.isSome(choice.hub) || Option.isSome(choice.project) ? ` --hub ${hub}` : "",
    start,
    run: (id) => callApi(calls.runs.get({ params: { id } })),
    runs: ({ limit, state }) =>
      Effect.flatMap(ofProject, (of) =>
        callApi(calls.runs.list({ query: { limit, ...of, ...(state === undefined ? {} : { state }) } }))
      ),
    cancel: (id) => callApi(calls.runs.cancel({ params: { id } })),
    decide: (id, payload) =>
      callApi(
        calls.approvals.decide({ params: { id }, headers: { "idempotency-key": randomUUID() }, payload })
      ),
    diff: (id) => readAllPages((query) => callApi(calls.runs.diff({ params: { id }, query }))),
    artifacts: (id) =>
      readAllPages((query) => callApi(calls.runs.artifacts({ params: { id }, query }))).pipe(
        Effect.map(({ items }) => items)
      ),
    content: (id, artifactId) =>
      callApi(calls.runs.artifactContent({ params: { id, artifactId } })).pipe(
        Effect.map(Stream.mapError(() => refused("The artifact broke off: try again.")))
      )
  } satisfies RunServer
})
