/** A valid request to each endpoint, each in a separate world: every refusal is for missing authority. */
import type { EndpointName } from "@corral/domain/hub-api/HubAuthorization"
import { bindingRequired, newAccount } from "@corral/testing/hub/Chats"
import { newKey } from "@corral/testing/hub/Offers"
import type { World } from "./AuthorizationWorld.ts"

export interface Request {
  readonly method: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Expected {
  readonly request: (world: World) => Request
  /** Status for callers that are not refused. */
  readonly status: number
}

const get = (path: (world: World) => string, status = 200): Expected => ({
  request: (world) => ({ method: "GET", path: path(world) }),
  status
})

const send = (
  method: "POST" | "PATCH" | "PUT" | "DELETE",
  status: number,
  path: (world: World) => string,
  body?: (world: World) => unknown
): Expected => ({
  request: (world) => ({ method, path: path(world), ...(body === undefined ? {} : { body: body(world) }) }),
  status
})

const acceptAll = () => ({ parts: { all: true, version: "version-1" } })

const changesInSession =
  (kind: "accept" | "reject" | "undo") =>
  ({ changeSetId, sessionId }: World): string =>
    `/client/sessions/${sessionId}/changes/${kind}?changeSetId=${changeSetId}`

export const requests: Record<EndpointName, Expected> = {
  "public.health": get(() => "/health"),
  "public.live": get(() => "/health/live"),
  "public.publicHealth": get(() => "/api/public/health"),
  "public.publicStats": get(() => "/api/public/stats"),

  // No identity provider is configured here.
  "signIn.login": get(() => "/client/auth/login", 404),
  "signIn.callback": get(() => "/client/auth/callback", 404),
  "signIn.deviceStart": send(
    "POST",
    200,
    () => "/client/auth/device/start",
    () => ({ kind: "cli" })
  ),
  "signIn.deviceToken": send(
    "POST",
    202,
    () => "/client/auth/device/token",
    ({ deviceCode }) => ({ deviceCode })
  ),
  "signIn.backchannelLogout": {
    request: () => ({
      method: "POST",
      path: "/client/auth/backchannel-logout",
      body: "logout_token=x",
      headers: { "content-type": "application/x-www-form-urlencoded" }
    }),
    status: 404
  },
  "auth.me": get(() => "/client/auth/me"),
  "auth.refresh": send("POST", 200, () => "/client/auth/refresh"),
  "auth.logout": send("POST", 204, () => "/client/auth/logout"),
  "auth.sessions": get(() => "/client/auth/sessions"),
  "auth.endSession": send("DELETE", 204, ({ signInId }) => `/client/auth/sessions/${signInId}`),
  "auth.endOtherSessions": send("DELETE", 204, () => "/client/auth/sessions"),
  "auth.deviceWaiting": get(({ userCode }) => `/client/auth/device?userCode=${userCode}`),
  "auth.deviceApprove": send(
    "POST",
    204,
    () => "/client/auth/device/approve",
    ({ userCode }) => ({
      userCode,
      decision: "deny"
    })
  ),
  "apiKeys.list": get(() => "/client/auth/keys"),
  // A bearer token issues no key.
  "apiKeys.create": send(
    "POST",
    403,
    () => "/client/auth/keys",
    () => ({ name: "ci", scopes: ["read"] })
  ),
  "apiKeys.remove": send("DELETE", 204, ({ apiKeyId }) => `/client/auth/keys/${apiKeyId}`),

  "projects.list": get(() => "/client/projects"),
  "projects.create": send(
    "POST",
    201,
    () => "/client/projects",
    () => ({ name: "Another" })
  ),
  "projects.get": get(({ projectId }) => `/client/projects/${projectId}`),
  "projects.update": send(
    "PATCH",
    200,
    ({ projectId }) => `/client/projects/${projectId}`,
    () => ({ name: "Renamed" })
  ),
  // Its run is still in progress: that is looked at after the caller's authority.
  "projects.remove": send("DELETE", 409, ({ projectId }) => `/client/projects/${projectId}`),
  "projects.members": get(({ projectId }) => `/client/projects/${projectId}/members`),
  "projects.addMember": send(
    "POST",
    201,
    ({ projectId }) => `/client/projects/${projectId}/members`,
    ({ newcomer }) => ({ userId: newcomer, role: "viewer" })
  ),
  "projects.updateMember": send(
    "PATCH",
    200,
    ({ extra, projectId }) => `/client/projects/${projectId}/members/${extra}`,
    () => ({ role: "member" })
  ),
  "projects.removeMember": send(
    "DELETE",
    204,
    ({ extra, projectId }) => `/client/projects/${projectId}/members/${extra}`
  ),
  "projects.workspaces": get(({ projectId }) => `/client/projects/${projectId}/workspaces`),
  "projects.linkWorkspace": send(
    "POST",
    201,
    ({ projectId }) => `/client/projects/${projectId}/workspaces`,
    ({ deviceId }) => ({ targetId: deviceId, workspace: "docs" })
  ),
  "projects.unlinkWorkspace": send(
    "DELETE",
    204,
    ({ deviceId, projectId }) => `/client/projects/${projectId}/workspaces/${deviceId}/site`
  ),

  "deviceRegistration.register": send(
    "POST",
    201,
    () => "/client/devices/register",
    () => ({
      name: "desk",
      kind: "edge",
      publicKey: newKey()
    })
  ),
  "devices.list": get(() => "/client/devices"),
  "devices.createJoinToken": send(
    "POST",
    201,
    () => "/client/devices/join-tokens",
    () => ({})
  ),
  "devices.get": get(({ deviceId }) => `/client/devices/${deviceId}`),
  "devices.update": send(
    "PATCH",
    200,
    ({ deviceId }) => `/client/devices/${deviceId}`,
    () => ({ name: "desk" })
  ),
  "devices.remove": send("DELETE", 204, ({ deviceId }) => `/client/devices/${deviceId}`),
  "devices.targets": get(() => "/client/targets"),

  // The device is offline, and a bearer token changes no preset.
  "presets.list": get(({ deviceId }) => `/client/devices/${deviceId}/presets`, 503),
  "presets.create": send(
    "POST",
    403,
    ({ deviceId }) => `/client/devices/${deviceId}/presets`,
    () => ({ id: "careful", kind: "profile", settings: { label: "Careful", adapter: "scripted" } })
  ),
  "presets.update": send(
    "PATCH",
    403,
    ({ deviceId }) => `/client/devices/${deviceId}/presets/careful`,
    () => ({ settings: { label: "Careful" } })
  ),
  "presets.remove": send("DELETE", 403, ({ deviceId }) => `/client/devices/${deviceId}/presets/careful`),

  "sessions.list": get(() => "/client/sessions"),
  "sessions.create": send(
    "POST",
    201,
    () => "/client/sessions",
    ({ projectId }) => ({ projectId, title: "Another" })
  ),
  "sessions.get": get(({ sessionId }) => `/client/sessions/${sessionId}`),
  "sessions.update": send(
    "PATCH",
    200,
    ({ sessionId }) => `/client/sessions/${sessionId}`,
    () => ({ title: "Renamed" })
  ),
  "sessions.messages": get(({ sessionId }) => `/client/sessions/${sessionId}/messages`),
  "sessions.message": get(({ message, sessionId }) => `/client/sessions/${sessionId}/messages/${message.id}`),
  "sessions.addMessage": send(
    "POST",
    201,
    ({ sessionId }) => `/client/sessions/${sessionId}/messages`,
    () => ({
      text: "hello",
      onOffline: "queue"
    })
  ),
  // The message has another version.
  "sessions.updateMessage": send(
    "PATCH",
    409,
    ({ message, sessionId }) => `/client/sessions/${sessionId}/messages/${message.id}`,
    () => ({ version: 0, text: "hello again" })
  ),
  "sessions.withdrawMessage": send(
    "POST",
    200,
    ({ message, sessionId }) => `/client/sessions/${sessionId}/messages/${message.id}/withdraw`
  ),
  // The message has not failed.
  "sessions.retryMessage": send(
    "POST",
    409,
    ({ message, sessionId }) => `/client/sessions/${sessionId}/messages/${message.id}/retry`
  ),
  "sessions.agents": get(({ sessionId }) => `/client/sessions/${sessionId}/agents`),
  "sessions.addAgent": send(
    "POST",
    201,
    ({ sessionId }) => `/client/sessions/${sessionId}/agents`,
    ({ deviceId }) => ({ agentId: "scripted", targetId: deviceId, workspace: "site" })
  ),
  "sessions.continueAgent": send(
    "POST",
    200,
    ({ agentInstanceId, sessionId }) => `/client/sessions/${sessionId}/agents/${agentInstanceId}/continue`
  ),
  "sessions.updateAgent": send(
    "PATCH",
    200,
    ({ agentInstanceId, sessionId }) => `/client/sessions/${sessionId}/agents/${agentInstanceId}`,
    () => ({ budget: { wallMs: 60_000 }, timeoutMs: null })
  ),
  "sessions.removeAgent": send(
    "DELETE",
    204,
    ({ agentInstanceId, sessionId }) =>
      `/client/sessions/${sessionId}/agents?agentInstanceId=${agentInstanceId}`
  ),
  "sessions.inventory": get(() => "/client/agents"),

  "conversations.read": send(
    "POST",
    200,
    ({ sessionId }) => `/client/sessions/${sessionId}/read`,
    ({ message }) => ({ messageId: message.id })
  ),
  "conversations.export": get(({ sessionId }) => `/client/sessions/${sessionId}/export?format=json`),
  "conversations.fork": send(
    "POST",
    201,
    ({ sessionId }) => `/client/sessions/${sessionId}/fork`,
    ({ message }) => ({ messageId: message.id })
  ),
  "uploads.create": {
    request: () => ({
      method: "POST",
      path: "/client/uploads?name=notes.txt",
      body: "Some notes",
      headers: { "content-type": "text/plain" }
    }),
    status: 201
  },
  "uploads.content": get(({ attachmentId }) => `/client/uploads/${attachmentId}`),
  "usage.report": get(() => "/client/usage?by=day,person"),
  "usage.csv": get(() => "/client/usage/csv"),
  "usage.limits": get(({ projectId }) => `/client/projects/${projectId}/limits`),
  // The project has no budget that a run would reserve.
  "usage.setLimit": send(
    "PUT",
    422,
    ({ projectId }) => `/client/projects/${projectId}/limits/everyone`,
    () => ({ costUsd: 5 })
  ),
  "usage.removeLimit": send("DELETE", 204, ({ projectId }) => `/client/projects/${projectId}/limits/each`),
  "search.find": get(() => "/client/search?q=hello"),

  // No device is linked here, so allowed callers get the error of an offline device.
  "files.folder": get(
    ({ deviceId, projectId }) => `/client/targets/${deviceId}/workspaces/site/files?projectId=${projectId}`,
    503
  ),
  "files.find": get(
    ({ deviceId, projectId }) =>
      `/client/targets/${deviceId}/workspaces/site/find?projectId=${projectId}&q=read`,
    503
  ),
  "files.file": get(
    ({ deviceId, projectId }) =>
      `/client/targets/${deviceId}/workspaces/site/file?projectId=${projectId}&path=README.md`,
    503
  ),

  "tasks.create": send(
    "POST",
    201,
    () => "/web/agent-tasks",
    ({ deviceId, projectId }) => ({
      projectId,
      targetId: deviceId,
      workspace: "site",
      agentId: "scripted",
      mode: "ask",
      input: { text: "Say hello" },
      onOffline: "queue"
    })
  ),
  "tasks.list": get(() => "/client/tasks"),
  "tasks.get": get(({ taskId }) => `/client/tasks/${taskId}`),
  "tasks.cancel": send("POST", 200, ({ taskId }) => `/client/tasks/${taskId}/cancel`),

  // No device is linked here: no candidate has changes to compare, and their tasks wait.
  "taskGroups.get": get(({ group }) => `/client/task-groups/${group.id}`),
  "taskGroups.comparison": get(({ group }) => `/client/task-groups/${group.id}/comparison`),
  "taskGroups.stop": send("POST", 200, ({ group }) => `/client/task-groups/${group.id}/stop`),
  "taskGroups.pause": send("POST", 200, ({ group }) => `/client/task-groups/${group.id}/pause`),
  "taskGroups.resume": send("POST", 200, ({ group }) => `/client/task-groups/${group.id}/resume`),
  "taskGroups.continue": send(
    "POST",
    200,
    ({ group }) => `/client/task-groups/${group.id}/continue`,
    ({ group }) => ({ taskId: group.taskId })
  ),

  "runs.list": get(() => "/client/runs"),
  "runs.get": get(({ runId }) => `/client/runs/${runId}`),
  "runs.events": get(({ runId }) => `/client/runs/${runId}/events`),
  // No device is linked here, so allowed callers get the error of an offline device.
  "runs.cancel": send("POST", 503, ({ runId }) => `/client/runs/${runId}/cancel`),
  "runs.pause": send("POST", 503, ({ runId }) => `/client/runs/${runId}/pause`),
  "runs.resume": send("POST", 503, ({ runId }) => `/client/runs/${runId}/resume`),
  "runs.finish": send("POST", 503, ({ runId }) => `/client/runs/${runId}/finish`),
  "runs.input": send(
    "POST",
    503,
    ({ runId }) => `/client/runs/${runId}/input`,
    () => ({ text: "And then?" })
  ),
  "runs.approvals": get(({ runId }) => `/client/runs/${runId}/approvals`),
  "runs.diff": get(({ runId }) => `/client/runs/${runId}/diff`, 503),
  "runs.artifacts": get(({ runId }) => `/client/runs/${runId}/artifacts`, 503),
  "runs.artifactContent": get(
    ({ runId }) => `/client/runs/${runId}/artifacts/art_${"0".repeat(26)}/content`,
    503
  ),
  "runs.openPreview": send(
    "POST",
    503,
    ({ runId }) => `/client/runs/${runId}/previews/prv_${"0".repeat(26)}/open`
  ),

  "approvals.list": get(() => "/client/approvals"),
  "approvals.get": get(({ approvalId }) => `/client/approvals/${approvalId}`),
  "approvals.decide": send(
    "POST",
    503,
    ({ approvalId }) => `/client/approvals/${approvalId}/decide`,
    () => ({
      decision: "allow",
      scope: "once"
    })
  ),

  "inputs.list": get(() => "/client/inputs"),
  "inputs.get": get(({ inputId }) => `/client/inputs/${inputId}`),
  "inputs.answer": send(
    "POST",
    503,
    ({ inputId }) => `/client/inputs/${inputId}/answer`,
    () => ({ answers: { name: "Ada" } })
  ),

  "changeSets.list": get(() => "/client/changes"),
  "changeSets.get": get(({ runId }) => `/client/runs/${runId}/changes`, 503),
  "changeSets.file": get(({ runId }) => `/client/runs/${runId}/changes/files/${"0".repeat(32)}`, 503),
  "changeSets.accept": send("POST", 503, ({ runId }) => `/client/runs/${runId}/changes/accept`, acceptAll),
  "changeSets.reject": send("POST", 503, ({ runId }) => `/client/runs/${runId}/changes/reject`, acceptAll),
  "changeSets.undo": send(
    "POST",
    503,
    ({ runId }) => `/client/runs/${runId}/changes/undo`,
    () => ({})
  ),
  "changeSets.ofSession": get(({ sessionId }) => `/client/sessions/${sessionId}/changes`),
  "changeSets.acceptInSession": send("POST", 503, changesInSession("accept"), acceptAll),
  "changeSets.rejectInSession": send("POST", 503, changesInSession("reject"), acceptAll),
  "changeSets.undoInSession": send("POST", 503, changesInSession("undo"), () => ({})),

  "news.follow": get(() => "/client/news"),

  "integrations.event": send(
    "POST",
    200,
    () => "/integrations/events",
    () => bindingRequired(newAccount())
  ),
  "integrations.bind": send(
    "POST",
    201,
    () => "/integrations/bindings",
    ({ confirmed: { account, number } }) => ({ ...account, number })
  ),
  "integrations.unbind": send(
    "POST",
    204,
    () => "/integrations/bindings/unbind",
    ({ bound }) => ({ ...bound })
  ),
  "integrations.bindingUpdates": send(
    "POST",
    200,
    () => "/integrations/bindings/updates",
    () => ({ platform: "feishu", app: "cli_x", delivered: [] })
  ),
  "preferences.get": get(() => "/client/preferences"),
  "preferences.update": send(
    "PATCH",
    200,
    () => "/client/preferences",
    () => ({ theme: "dark" })
  ),
  "chatBindings.list": get(() => "/client/chat-bindings"),
  "chatBindings.remove": send("DELETE", 204, ({ bindingId }) => `/client/chat-bindings/${bindingId}`),
  "chatBindings.look": send(
    "POST",
    200,
    () => "/client/chat-links/look",
    ({ code }) => ({ code })
  ),
  // Allowed callers are referred to a browser.
  "chatBindings.confirm": send(
    "POST",
    403,
    () => "/client/chat-links/confirm",
    ({ code }) => ({ code })
  ),
  "chatBindings.refuse": send(
    "POST",
    204,
    () => "/client/chat-links/refuse",
    ({ code }) => ({ code })
  ),

  "audit.list": get(({ projectId }) => `/client/audit?projectId=${projectId}`),
  "audit.export": get(({ projectId }) => `/client/audit/export?projectId=${projectId}`),
  "audit.verify": get(({ projectId }) => `/client/audit/verify?projectId=${projectId}`)
}
