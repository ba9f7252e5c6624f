/**
 * Choice of the run server that the flags name.
 *
 * `--hub` and `--project` select the Hub, `--url` an Edge. Without these flags it is the Edge of this machine or, if none is running, the Hub
 * that the user is signed in to.
 *
 * A new run without a flag goes to the Hub if this machine is its device and the workspace is linked to a project, so that the console shows the
 * run. Otherwise it goes to the Edge of this machine. One line on stderr says which it is, where both were possible.
 */
import type { InputRequestId, RunId } from "@corral/domain/identity/Ids"
import type { Project } from "@corral/domain/project/Project"
import type { DeviceFile } from "@corral/edge/link/DeviceKey"
import { Effect, Option } from "effect"
import { readAllPages } from "../AllPages.ts"
import { CommandFailed, refused } from "../CommandFailed.ts"
import type { RunServerChoice } from "../Flags.ts"
import { type HubApiClient, connectToHub } from "../hub/HubClient.ts"
import { readSignIn, thisDevice } from "../hub/SignInFile.ts"
import { Host } from "../terminal/Host.ts"
import { escapeLine } from "../terminal/VisibleText.ts"
import { edgeRunServer } from "./EdgeRunServer.ts"
import { hubRunServer } from "./HubRunServer.ts"
import type { RunServer, ServerCall } from "./RunServer.ts"
import { unknownChangesLine } from "./EventLines.ts"

/** Replaces the message of a "not found" failure. A Hub answers `permission_denied` for missing and for forbidden resources. */
export const explainMissing =
  (message: string, codes: ReadonlyArray<string> = ["not_found"]) =>
  <A>(call: ServerCall<A>): ServerCall<A> =>
    Effect.mapError(call, (failure) =>
      codes.includes(failure.code ?? "") ? new CommandFailed({ ...failure, message }) : failure
    )

/** `flags` select the server, so that the suggested command uses the same one. */
export const explainMissingRun = (id: RunId, flags = "", codes?: ReadonlyArray<string>) =>
  explainMissing(
    `Run ${id} was not found, or you don't have access to it. \`corral runs${flags}\` lists the available runs.`,
    codes
  )

/** Says why the changes are unknown. */
const explainUnknownChanges = <A>(call: ServerCall<A>): ServerCall<A> =>
  Effect.mapError(call, (failure) => {
    const { detail, reason } = failure.details ?? {}
    if (failure.code !== "changes_unknown" || typeof reason !== "string") return failure
    const unknown = typeof detail === "string" ? { reason, detail } : { reason }
    return new CommandFailed({ ...failure, message: unknownChangesLine(unknown) })
  })

/** Says how a question ended, and who answered. */
const explainResolved = <A>(call: ServerCall<A>): ServerCall<A> =>
  Effect.mapError(call, (failure) => {
    const { answeredBy, state } = failure.details ?? {}
    if (failure.code !== "input_already_resolved" || typeof state !== "string") return failure
    const by = typeof answeredBy === "string" ? ` by ${escapeLine(answeredBy)}` : ""
    const message = `This question is no longer open: ${escapeLine(state.replaceAll("_", " "))}${by}.`
    return new CommandFailed({ ...failure, message })
  })

/** The server, with failures that say where to find what is missing. */
const explainMissingIn = (server: RunServer): RunServer => {
  const { named } = server
  const missingOrForbidden = (id: RunId) => explainMissingRun(id, named, ["not_found", "permission_denied"])
  const missingQuestion = (id: InputRequestId) =>
    explainMissing(
      `Question ${id} was not found, or you don't have access to it. \`corral questions${named}\` lists what is open.`
    )
  return {
    ...server,
    run: (id) => missingOrForbidden(id)(server.run(id)),
    cancel: (id) => explainMissingRun(id, named)(server.cancel(id)),
    finish: (id) => missingOrForbidden(id)(server.finish(id)),
    input: (id) => missingQuestion(id)(server.input(id)),
    answer: (id, answer) => missingQuestion(id)(explainResolved(server.answer(id, answer))),
    diff: (id) => explainUnknownChanges(missingOrForbidden(id)(server.diff(id))),
    changes: (id) => explainUnknownChanges(missingOrForbidden(id)(server.changes(id))),
    changedFile: (id, fileId) => explainUnknownChanges(server.changedFile(id, fileId)),
    artifacts: (id) => missingOrForbidden(id)(server.artifacts(id)),
    content: (run, id) =>
      explainMissing(
        `Run ${run} has no artifact ${id}. \`corral artifacts list ${run}${named}\` lists its artifacts.`
      )(server.content(run, id)),
    decide: (id, decision) =>
      explainMissing(
        `Approval ${id} was not found, or you don't have access to it. \`corral attach\` on its run shows the id.`
      )(server.decide(id, decision))
  }
}

const findServer = Effect.fn("SelectRunServer.find")(function* (choice: RunServerChoice) {
  const { hub, project, url } = choice
  if (Option.isSome(hub) || Option.isSome(project)) {
    if (Option.isSome(url))
      return yield* refused("--url selects an Edge, --hub and --project select a Hub. Use one or the other.")
    return yield* hubRunServer(choice)
  }
  return yield* edgeRunServer(choice).pipe(
    Effect.catchIf(
      ({ unreachable }) => unreachable === true && Option.isNone(url),
      (notRunning) =>
        Effect.flatMap(readSignIn, (signIn) =>
          signIn === undefined ? Effect.fail(notRunning) : hubRunServer(choice)
        )
    )
  )
})

export const selectRunServer = (choice: RunServerChoice) => Effect.map(findServer(choice), explainMissingIn)

/** Server with groups of candidates: without a flag the Hub that you are signed in to, because an Edge has none. */
export const selectGroupServer = Effect.fnUntraced(function* (choice: RunServerChoice) {
  const isNamed = [choice.hub, choice.project, choice.url].some(Option.isSome)
  const signIn = isNamed ? undefined : yield* readSignIn
  return yield* signIn === undefined
    ? selectRunServer(choice)
    : Effect.map(hubRunServer(choice), explainMissingIn)
})

export interface StartServerChoice extends RunServerChoice {
  /** Only the Edge of this machine. */
  readonly edge: boolean
  /** A device at a Hub. */
  readonly target: Option.Option<string>
}

interface StartServer {
  readonly server: RunServer
  /** The device for the run, if it is this machine's at a Hub. */
  readonly target: string | undefined
  /** The only workspace of this machine that is linked. */
  readonly workspace: string | undefined
}

interface Link {
  readonly project: Project
  readonly workspace: string
}

/** Links of this device to projects that the user can read. */
const linksOf = Effect.fnUntraced(function* (calls: HubApiClient, { deviceId }: DeviceFile) {
  const { items } = yield* readAllPages((query) => calls.projects.list({ query }))
  const found = yield* Effect.forEach(
    items,
    (project) =>
      Effect.map(
        readAllPages((query) => calls.projects.workspaces({ params: { id: project.id }, query })),
        (links) =>
          links.items
            .filter(({ targetId }) => targetId === deviceId)
            .map(({ workspace }): Link => ({ project, workspace }))
      ),
    { concurrency: 4 }
  )
  return found.flat()
})

/** Why a run stays on this machine. */
const local = (reason: string) => ({ reason }) as const

/** The project for the run, or why there is none. */
const projectFor = Effect.fnUntraced(function* (device: DeviceFile, workspace: string | undefined) {
  const signIn = yield* readSignIn
  if (signIn === undefined || signIn.hub !== device.hub)
    return local(`you are not signed in to ${escapeLine(device.hub)}`)
  const calls = yield* connectToHub(signIn.hub, signIn.token)
  const { state } = yield* calls.devices.get({ params: { id: device.deviceId } })
  if (state !== "online") return local(`the Hub at ${escapeLine(device.hub)} can't reach this machine`)
  const links = (yield* linksOf(calls, device)).filter(
    (link) => link.workspace === (workspace ?? link.workspace)
  )
  const workspaces = new Set(links.map((link) => link.workspace))
  const [first, ...others] = links
  if (first === undefined)
    return local(
      workspace === undefined
        ? "no workspace is linked to a project"
        : `workspace ${escapeLine(workspace)} is not linked to a project`
    )
  if (workspaces.size > 1)
    return yield* refused(
      `Choose a workspace with --workspace. Available: ${[...workspaces].map(escapeLine).join(", ")}.`
    )
  if (others.length > 0) {
    const names = links.map(({ project }) => escapeLine(project.name)).join(", ")
    return yield* refused(
      `Workspace ${escapeLine(first.workspace)} is linked to several projects: ${names}. Choose one with --project, or use --edge.`
    )
  }
  return { hub: device.hub, project: first.project, workspace: first.workspace }
})

const startLocally = Effect.fnUntraced(function* (choice: RunServerChoice, reason: string) {
  const host = yield* Host
  const server = explainMissingIn(yield* edgeRunServer(choice))
  host.warn(`This run is only on this machine: ${reason}. The console does not show it.\n`)
  return { server, target: undefined, workspace: undefined } satisfies StartServer
})

/**
 * Server for a new run. Without a flag it is the Hub if this machine is its device and the workspace is linked to a project, so that the console
 * shows the run. Otherwise it is the Edge of this machine.
 *
 * One line on stderr says which it is, where both were possible.
 */
export const selectStartServer = Effect.fn("SelectRunServer.selectForStart")(function* (
  { edge, ...choice }: StartServerChoice,
  workspace: string | undefined
): Effect.fn.Return<StartServer, CommandFailed, StartServices> {
  const { hub, project, target, tokenFile, url } = choice
  const isNamed = [hub, project, target, tokenFile, url].some(Option.isSome)
  if (edge) {
    if (Option.isSome(hub) || Option.isSome(project))
      return yield* refused(
        "--edge selects the Edge of this machine, --hub and --project select a Hub. Use one or the other."
      )
    return { server: explainMissingIn(yield* edgeRunServer(choice)), target: undefined, workspace: undefined }
  }
  const device = isNamed ? undefined : yield* thisDevice
  if (device === undefined)
    return { server: yield* selectRunServer(choice), target: undefined, workspace: undefined }
  const found = yield* projectFor(device, workspace).pipe(
    Effect.catchIf(
      ({ code, unreachable }) =>
        unreachable === true || code === "unauthorized" || code === "permission_denied",
      ({ message, unreachable }) =>
        Effect.succeed(
          local(
            unreachable === true ? `the Hub at ${device.hub} does not respond` : message.replace(/\.$/, "")
          )
        )
    )
  )
  if ("reason" in found) return yield* startLocally(choice, found.reason)
  const host = yield* Host
  const server = yield* hubRunServer({
    ...choice,
    project: Option.some(found.project.id)
  })
  host.warn(
    `This run is in project ${escapeLine(found.project.name)} at ${escapeLine(found.hub)}: the console shows it.\n`
  )
  // The Edge of this machine has the run too, so that other commands find it without flags.
  return {
    server: explainMissingIn({ ...server, named: "" }),
    target: device.deviceId,
    workspace: found.workspace
  }
})

type StartServices = Effect.Services<ReturnType<typeof selectRunServer>> | Host

/** The value of a flag, or the only choice. */
export const onlyChoice = (
  what: string,
  flag: string,
  wanted: string | undefined,
  choices: ServerCall<ReadonlyArray<string>>
): ServerCall<string> =>
  wanted === undefined
    ? Effect.flatMap(choices, (all) => {
        const [one] = all
        return one !== undefined && all.length === 1
          ? Effect.succeed(one)
          : Effect.fail(
              refused(
                `Choose ${/^[aeiou]/.test(what) ? "an" : "a"} ${what} with ${flag}. Available: ${all.map(escapeLine).join(", ") || "none"}.`
              )
            )
      })
    : Effect.succeed(wanted)
