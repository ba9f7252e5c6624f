/**
 * Codex's requests to the user: approvals with the exact action, questions and forms, and the questions that end a turn. Each waits for one response.
 *
 * An approval offers the scopes that the runtime itself could remember. Its `acceptForSession` ends with the process, so that is one run. Codex
 * always receives a decision for once. Only the Edge remembers decisions: a revoked grant ends immediately, and every action is recorded.
 *
 * Guarantees: a response is written once. Without an answer of a person Codex receives no option.
 */
import type { Relative } from "../files/RelativePath.ts"
import type { OutputCollector } from "../output/OutputCollector.ts"
import { titleLine } from "../text/FirstLine.ts"
import { arrayOf, defined, isJsonObject, type JsonObject, objectOf, textOf } from "../text/Json.ts"
import { PATCH, SHELL, filesInChanges, labelOfChanges, scriptOf, toolOfServer } from "./Tools.ts"
import { codexRefusal, type CodexRequestId, codexResponse, declineLost, isRequestId } from "./Frames.ts"
import type { ItemOrigin, Items } from "./Items.ts"
import { messageOfResponse, toCodexInput, unansweredResult } from "./Questions.ts"
import type { ApprovalRequest, Decision, DecisionScope } from "@corral/domain/approval/Approval"
import type { RequestedInput } from "@corral/domain/input/InputRequest"
import type { ApprovalAnswer, InputResponse } from "@corral/domain/run/RuntimeAdapter"

/** A permission request, and the response to it for each decision. */
interface CodexQuestion {
  readonly request: ApprovalRequest
  readonly result: (decision: Decision) => object
}

const decisionNames: Readonly<Record<Decision, string>> = {
  allow: "accept",
  deny: "decline",
  cancel: "cancel"
}
const toDecision = (decision: Decision): object => ({ decision: decisionNames[decision] })

const once: ReadonlyArray<DecisionScope> = ["once"]

const scopesOf = (forSession: boolean, forAlways: boolean): ReadonlyArray<DecisionScope> => {
  if (forAlways) return ["once", "run", "session", "always"]
  return forSession ? ["once", "run"] : once
}

const includesDecision = (decisions: unknown, name: string): boolean =>
  arrayOf(decisions).some((one) => one === name || (isJsonObject(one) && Object.hasOwn(one, name)))

const callIdOf = (params: JsonObject): { readonly callId?: string } =>
  defined({ callId: textOf(params["itemId"]) })

const commandQuestion = (params: JsonObject, relative: Relative): CodexQuestion => {
  const [commandLine, folder] = [textOf(params["command"]), textOf(params["cwd"])]
  const rights = params["additionalPermissions"]
  const command = commandLine === undefined ? undefined : scriptOf(commandLine)
  const decisions = params["availableDecisions"]
  const environment = textOf(params["environmentId"]) ?? "local"
  // The same command with more permissions, in another environment or in an unknown folder is another action.
  const isPlain =
    command !== undefined && folder !== undefined && !isJsonObject(rights) && environment === "local"
  return {
    request: {
      action: "shell",
      risk: isJsonObject(rights) ? "high" : "medium",
      title: titleLine(`Run ${command ?? "a command"}`),
      tool: SHELL,
      ...callIdOf(params),
      ...defined({
        command,
        cwd: folder === undefined ? undefined : relative(folder),
        reason: textOf(params["reason"]),
        input: isJsonObject(rights) ? { command: commandLine, additionalPermissions: rights } : undefined
      }),
      editable: false,
      scopes: isPlain
        ? scopesOf(
            includesDecision(decisions, "acceptForSession"),
            includesDecision(decisions, "acceptWithExecpolicyAmendment")
          )
        : once
    },
    result: toDecision
  }
}

/** Request for network access of a running command, not for the command. */
const networkQuestion = (params: JsonObject, host: string, protocol: string): CodexQuestion => ({
  request: {
    action: "network",
    risk: "medium",
    title: titleLine(`Reach ${host}`),
    tool: SHELL,
    ...callIdOf(params),
    url: `${protocol}://${host}`,
    ...defined({ reason: textOf(params["reason"]) }),
    input: defined({ command: textOf(params["command"]), host, protocol }),
    editable: false,
    scopes: scopesOf(
      includesDecision(params["availableDecisions"], "acceptForSession"),
      includesDecision(params["availableDecisions"], "applyNetworkPolicyAmendment")
    )
  },
  result: toDecision
})

const patchQuestion = (params: JsonObject, relative: Relative, items: Items): CodexQuestion => {
  const item = textOf(params["itemId"]) ?? ""
  const changes = items.changesOf(item)
  const root = textOf(params["grantRoot"])
  const patches = changes.flatMap(({ patch }) => patch ?? [])
  // A whole folder from now on, or files without a name, are more than a patch.
  const isPlain = root === undefined && changes.length > 0 && items.namesAllFiles(item)
  return {
    request: {
      action: "write",
      risk: isPlain ? "low" : "high",
      title: root === undefined ? labelOfChanges(changes) : titleLine(`Write anything in ${relative(root)}`),
      tool: PATCH,
      ...callIdOf(params),
      ...defined({
        files: changes.length === 0 ? undefined : filesInChanges(changes),
        patch: patches.length === 0 ? undefined : patches.join(""),
        reason: textOf(params["reason"]),
        input: root === undefined ? undefined : { grantRoot: root }
      }),
      editable: false,
      // According to its documentation, Codex accepts a session scope for every patch.
      scopes: isPlain ? scopesOf(true, false) : once
    },
    result: toDecision
  }
}

const permissionsQuestion = (params: JsonObject): CodexQuestion => {
  const permissions = objectOf(params["permissions"])
  return {
    request: {
      action: isJsonObject(permissions["network"]) ? "network" : "write",
      risk: "high",
      title: "Give Codex more permissions for this turn",
      tool: "request_permissions",
      ...callIdOf(params),
      ...defined({ reason: textOf(params["reason"]) }),
      input: permissions,
      editable: false,
      scopes: once
    },
    result: (decision) => ({ permissions: decision === "allow" ? permissions : {}, scope: "turn" })
  }
}

/** Request for a tool call of an MCP server. Requests for other information are refused. */
const serverQuestion = (params: JsonObject): CodexQuestion | undefined => {
  const meta = objectOf(params["_meta"])
  if (meta["codex_approval_kind"] !== "mcp_tool_call") return undefined
  const server = textOf(params["serverName"]) ?? "a server"
  const name = textOf(meta["tool_name"])
  const message = textOf(params["message"])
  const persist = [meta["persist"]].flat()
  return {
    request: {
      action: "network",
      risk: "medium",
      title: titleLine(message ?? `Use ${name ?? "a tool"} of ${server}`),
      tool: toolOfServer(server, name ?? "tool"),
      ...defined({ reason: textOf(meta["tool_description"]) }),
      // The message may be the only place with the tool's name.
      input: { ...defined({ message }), arguments: meta["tool_params"] ?? null },
      editable: false,
      scopes: scopesOf(persist.includes("session"), persist.includes("always"))
    },
    result: (decision) => ({ action: decisionNames[decision], content: decision === "allow" ? {} : null })
  }
}

/** The question for a request; `undefined` if a decision cannot answer it. */
export const toCodexQuestion = (
  method: string,
  params: JsonObject,
  relative: Relative,
  items: Items
): CodexQuestion | undefined => {
  switch (method) {
    case "item/commandExecution/requestApproval": {
      const { host, protocol } = objectOf(params["networkApprovalContext"])
      return typeof host === "string"
        ? networkQuestion(params, host, textOf(protocol) ?? "https")
        : commandQuestion(params, relative)
    }
    case "item/fileChange/requestApproval":
      return patchQuestion(params, relative, items)
    case "item/permissions/requestApproval":
      return permissionsQuestion(params)
    case "mcpServer/elicitation/request":
      return serverQuestion(params)
    default:
      return undefined
  }
}

/** Parts of the conversation that responses use. */
interface RequestsHost {
  readonly collector: OutputCollector
  readonly items: Items
  /** The line that adds a message to the active turn of a thread. */
  readonly steer: (thread: string, text: string) => string
  /** The line that starts a turn with a message. */
  readonly startTurn: (text: string) => string
}

interface PendingApproval {
  readonly id: CodexRequestId
  readonly origin: ItemOrigin
  readonly result: (decision: Decision) => object
}

export class Requests {
  readonly #host: RequestsHost
  readonly #approvals = new Map<string, PendingApproval>()
  readonly #inputs = new Map<string, (response: InputResponse) => string | undefined>()
  /** Keys of the questions that Codex stops waiting for by itself. */
  readonly #timed = new Set<string>()
  /** Keys of the questions that wait for the next turn. */
  readonly #turnQuestions = new Set<string>()

  constructor(host: RequestsHost) {
    this.#host = host
  }

  /** Reads a request. One that a user cannot answer is refused: Codex would wait forever without a response. */
  read(id: CodexRequestId, method: string, params: JsonObject, origin: ItemOrigin, relative: Relative): void {
    const { collector, items } = this.#host
    const key = JSON.stringify(id)
    const parent = defined({ parentCallId: origin.parent })
    const approval = toCodexQuestion(method, params, relative, items)
    if (approval !== undefined) {
      const { request, result } = approval
      if (collector.requestApproval(key, { ...request, ...parent }))
        this.#approvals.set(key, { id, origin, result })
      return
    }
    const input = toCodexInput(method, params)
    if (input !== undefined) {
      const { canDecline, request, result } = input
      if (typeof params["autoResolutionMs"] === "number") this.#timed.add(key)
      if (collector.requestInput(key, { ...request, ...parent }))
        this.#inputs.set(key, (response) => {
          const written = codexResponse(id, result(response))
          return response._tag === "Unanswered" && !canDecline
            ? written + this.#explain(origin, response.reason)
            : written
        })
      return
    }
    collector.countUnknown(method)
    const declined = unansweredResult(method)
    if (declined !== undefined)
      collector.notice("warning", "Codex asked for input that Corral cannot show.", parent)
    this.#reply(
      declined === undefined ? codexRefusal(id, `${method} is not supported`) : codexResponse(id, declined)
    )
  }

  /** Declines a request whose line is lost. */
  decline(id: CodexRequestId, method: string): void {
    this.#reply(declineLost(id, method))
  }

  /** Asks what the agent has left to the user at the end of its turn. The answer starts the next turn. */
  askForTurn(item: string, request: RequestedInput): void {
    const key = `item ${item}`
    if (!this.#host.collector.requestInput(key, request)) return
    this.#turnQuestions.add(key)
    this.#inputs.set(key, (response) => {
      this.#turnQuestions.delete(key)
      const message = messageOfResponse(request, response)
      return message === undefined ? undefined : this.#host.startTurn(message)
    })
  }

  /** A turn starts: questions that waited for it are over. */
  withdrawTurnQuestions(): void {
    for (const key of this.#turnQuestions) {
      this.#inputs.delete(key)
      this.#host.collector.withdrawInput(key, "withdrawn")
    }
    this.#turnQuestions.clear()
  }

  /** Codex no longer waits for a request. It reports the answered ones, too. */
  resolved(id: unknown): void {
    if (!isRequestId(id)) return
    const key = JSON.stringify(id)
    if (this.#approvals.delete(key))
      this.#host.collector.withdrawApproval(key, "the runtime no longer waits for it")
    if (this.#inputs.delete(key))
      this.#host.collector.withdrawInput(key, this.#timed.has(key) ? "self_answered" : "withdrawn")
  }

  /** The decision on an approval. A denial has no text: the reason follows as a message to the turn, which continues. */
  answer(key: string, { decision, reason }: ApprovalAnswer): string | undefined {
    const approval = this.#approvals.get(key)
    if (approval === undefined || !this.#host.collector.takeAnswer(key)) return undefined
    this.#approvals.delete(key)
    const response = codexResponse(approval.id, approval.result(decision))
    return decision === "deny" && reason !== undefined
      ? response + this.#explain(approval.origin, reason)
      : response
  }

  respond(key: string, response: InputResponse): string | undefined {
    const input = this.#inputs.get(key)
    if (input === undefined || !this.#host.collector.takeResponse(key)) return undefined
    this.#inputs.delete(key)
    return input(response)
  }

  /** A message to the turn of the agent itself. Sub-agents take none. */
  #explain({ parent, thread }: ItemOrigin, reason: string): string {
    return parent !== undefined || thread === undefined ? "" : this.#host.steer(thread, reason)
  }

  #reply(text: string): void {
    this.#host.collector.emit({ _tag: "Reply", text })
  }
}
