/**
 * Codex's questions as approvals: exactly what would happen, and how a decision goes back.
 *
 * What a decision is remembered for is offered as far as the runtime itself would remember it: its `acceptForSession` ends with the
 * process, which is a run's. The memory is the Edge's: the runtime is only ever told yes for once, so that a grant taken back is gone at
 * once and nothing happens unrecorded.
 */
import type { ApprovalRequest, Decision, DecisionScope } from "@corral/domain/approval/Approval"
import { arrayOf, defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { titleLine } from "../text/FirstLine.ts"
import type { Relative } from "../files/RelativePath.ts"
import { filesInChanges } from "./FileChanges.ts"
import type { Items } from "./Items.ts"
import { scriptOf } from "./ShellScript.ts"
import { labelOfChanges, PATCH, SHELL, toolOfServer } from "./Tools.ts"

/** A question, and the result that a decision on it is answered with. */
export interface CodexQuestion {
  readonly request: ApprovalRequest
  readonly result: (decision: Decision) => object
}

const words: Readonly<Record<Decision, string>> = { allow: "accept", deny: "decline", cancel: "cancel" }
const decided = (decision: Decision): object => ({ decision: words[decision] })

const once: ReadonlyArray<DecisionScope> = ["once"]

const scopesOf = (forSession: boolean, forAlways: boolean): ReadonlyArray<DecisionScope> => {
  if (forAlways) return ["once", "run", "session", "always"]
  return forSession ? ["once", "run"] : once
}

const says = (decisions: unknown, name: string): boolean =>
  arrayOf(decisions).some((one) => one === name || (isJsonObject(one) && Object.hasOwn(one, name)))

const callOf = (params: JsonObject): { readonly callId?: string } =>
  defined({ callId: textOf(params["itemId"]) })

const commandOf = (params: JsonObject, relative: Relative): CodexQuestion => {
  const [told, folder] = [textOf(params["command"]), textOf(params["cwd"])]
  const rights = params["additionalPermissions"]
  const command = told === undefined ? undefined : scriptOf(told)
  const decisions = params["availableDecisions"]
  const environment = textOf(params["environmentId"]) ?? "local"
  // The same words with more rights, in another place or in an unnamed folder are another action.
  const plain =
    command !== undefined && folder !== undefined && !isJsonObject(rights) && environment === "local"
  return {
    request: {
      action: "shell",
      risk: isJsonObject(rights) ? "high" : "medium",
      title: titleLine(`Run ${command ?? "a command"}`),
      tool: SHELL,
      ...callOf(params),
      ...defined({
        command,
        cwd: folder === undefined ? undefined : relative(folder),
        reason: textOf(params["reason"]),
        input: isJsonObject(rights) ? { command: told, additionalPermissions: rights } : undefined
      }),
      editable: false,
      scopes: plain
        ? scopesOf(says(decisions, "acceptForSession"), says(decisions, "acceptWithExecpolicyAmendment"))
        : once
    },
    result: decided
  }
}

/** A command that runs already wants to reach a host: that is asked, and not whether it may run. */
const reachOf = (params: JsonObject, host: string, protocol: string): CodexQuestion => ({
  request: {
    action: "network",
    risk: "medium",
    title: titleLine(`Reach ${host}`),
    tool: SHELL,
    ...callOf(params),
    url: `${protocol}://${host}`,
    ...defined({ reason: textOf(params["reason"]) }),
    input: defined({ command: textOf(params["command"]), host, protocol }),
    editable: false,
    scopes: scopesOf(
      says(params["availableDecisions"], "acceptForSession"),
      says(params["availableDecisions"], "applyNetworkPolicyAmendment")
    )
  },
  result: decided
})

const patchOf = (params: JsonObject, relative: Relative, items: Items): CodexQuestion => {
  const item = textOf(params["itemId"]) ?? ""
  const changes = items.changesOf(item)
  const root = textOf(params["grantRoot"])
  const patches = changes.flatMap(({ patch }) => patch ?? [])
  // A whole folder from now on, or unnamed files: more than a patch of files.
  const plain = root === undefined && changes.length > 0 && items.tellsAll(item)
  return {
    request: {
      action: "write",
      risk: plain ? "low" : "high",
      title: root === undefined ? labelOfChanges(changes) : titleLine(`Write anything in ${relative(root)}`),
      tool: PATCH,
      ...callOf(params),
      ...defined({
        files: changes.length === 0 ? undefined : filesInChanges(changes),
        patch: patches.length === 0 ? undefined : patches.join(""),
        reason: textOf(params["reason"]),
        input: root === undefined ? undefined : { grantRoot: root }
      }),
      editable: false,
      // A yes for the session is offered with every patch, though only its documentation says so.
      scopes: plain ? scopesOf(true, false) : once
    },
    result: decided
  }
}

const rightsOf = (params: JsonObject): CodexQuestion => {
  const permissions = objectOf(params["permissions"])
  return {
    request: {
      action: isJsonObject(permissions["network"]) ? "network" : "write",
      risk: "high",
      title: "Give Codex more rights for this turn",
      tool: "request_permissions",
      ...callOf(params),
      ...defined({ reason: textOf(params["reason"]) }),
      input: permissions,
      editable: false,
      scopes: once
    },
    result: (decision) => ({ permissions: decision === "allow" ? permissions : {}, scope: "turn" })
  }
}

/** A request of a server for consent. Requests for other information are refused. */
const serverOf = (params: JsonObject): CodexQuestion | undefined => {
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
      // The tool's name may stand in the sentence alone.
      input: { ...defined({ message }), arguments: meta["tool_params"] ?? null },
      editable: false,
      scopes: scopesOf(persist.includes("session"), persist.includes("always"))
    },
    result: (decision) => ({ action: words[decision], content: decision === "allow" ? {} : null })
  }
}

/** A request of the server as a question for a person; `undefined` where it is none that a yes or no answers. */
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
        ? reachOf(params, host, textOf(protocol) ?? "https")
        : commandOf(params, relative)
    }
    case "item/fileChange/requestApproval":
      return patchOf(params, relative, items)
    case "item/permissions/requestApproval":
      return rightsOf(params)
    case "mcpServer/elicitation/request":
      return serverOf(params)
    default:
      return undefined
  }
}
