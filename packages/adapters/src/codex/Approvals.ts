/**
 * Codex's permission requests as approvals with the exact action, and the responses to them.
 *
 * An approval offers the scopes that the runtime itself could remember. Its `acceptForSession` ends with the process, so that is one run.
 * Codex always receives a decision for once. Only the Edge remembers decisions: a revoked grant ends immediately, and every action is
 * recorded.
 */
import type { ApprovalRequest, Decision, DecisionScope } from "@corral/domain/approval/Approval"
import { arrayOf, defined, isJsonObject, objectOf, textOf, type JsonObject } from "../text/Json.ts"
import { titleLine } from "../text/FirstLine.ts"
import type { Relative } from "../files/RelativePath.ts"
import { filesInChanges } from "./FileChanges.ts"
import type { Items } from "./Items.ts"
import { PATCH, SHELL, labelOfChanges, scriptOf, toolOfServer } from "./Tools.ts"

/** A permission request, and the response to it for each decision. */
export interface CodexQuestion {
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
