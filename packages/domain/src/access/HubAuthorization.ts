/**
 * Which authority each endpoint of the Hub asks for, as data: what `docs/authorization.md` says and what the Hub is held to.
 *
 * A list asks for a sign-in and shows what its caller may read.
 */
import { type Action, matrix, roleRefusal, type RoleAction } from "./Authorization.ts"
import type { ErrorCode } from "../errors/ErrorTable.ts"
import { ProjectRole } from "../project/Project.ts"

export type EndpointAuthority =
  | Action
  /** The person whose device it is. */
  | "device.own"
  /** That person, and the members of a project that it is shared with. */
  | "device.read"
  /** A join token, or a sign-in. */
  | "device.join"
  /** A Gateway's token. */
  | "gateway"
  /** The person whose account is linked. */
  | "binding.own"

/** By group and name of the endpoint. */
export const endpointAuthority = {
  "public.health": "public.read",
  "public.live": "public.read",
  "public.publicHealth": "public.read",
  "public.publicStats": "public.read",
  "signIn.login": "public.read",
  "signIn.callback": "public.read",
  "signIn.deviceStart": "public.read",
  "signIn.deviceToken": "public.read",
  "signIn.backchannelLogout": "public.read",
  "auth.me": "session.open",
  "auth.refresh": "session.open",
  "auth.logout": "session.open",
  "auth.sessions": "session.open",
  "auth.endSession": "session.open",
  "auth.endOtherSessions": "session.open",
  "auth.deviceWaiting": "session.open",
  "auth.deviceApprove": "session.open",
  "apiKeys.list": "session.open",
  "apiKeys.create": "session.open",
  "apiKeys.remove": "session.open",
  "sessions.list": "session.open",
  "sessions.create": "session.write",
  "sessions.get": "project.read",
  "sessions.update": "session.write",
  "sessions.messages": "project.read",
  "sessions.addMessage": "session.write",
  "sessions.agents": "project.read",
  "sessions.addAgent": "session.write",
  "sessions.removeAgent": "session.write",
  "sessions.inventory": "session.open",
  "projects.list": "session.open",
  "projects.create": "session.open",
  "projects.get": "project.read",
  "projects.update": "project.update",
  "projects.remove": "project.delete",
  "projects.members": "project.read",
  "projects.addMember": "member.manage",
  "projects.updateMember": "member.manage",
  "projects.removeMember": "member.manage",
  "projects.workspaces": "project.read",
  "projects.linkWorkspace": "device.manage",
  "projects.unlinkWorkspace": "device.manage",
  "deviceRegistration.register": "device.join",
  "devices.list": "session.open",
  "devices.createJoinToken": "session.open",
  "devices.get": "device.read",
  "devices.update": "device.own",
  "devices.remove": "device.own",
  "devices.targets": "session.open",
  "files.folder": "task.create",
  "files.file": "task.create",
  "tasks.create": "task.create",
  "tasks.list": "session.open",
  "tasks.get": "project.read",
  "tasks.cancel": "run.cancel",
  "runs.list": "session.open",
  "runs.get": "project.read",
  "runs.events": "project.read",
  "runs.cancel": "run.cancel",
  "runs.input": "task.create",
  "runs.approvals": "project.read",
  "runs.diff": "project.read",
  "runs.artifacts": "project.read",
  "runs.artifactContent": "project.read",
  "runs.openPreview": "task.create",
  "approvals.list": "session.open",
  "approvals.get": "project.read",
  "approvals.decide": "approval.decide",
  "news.follow": "session.open",
  "integrations.event": "gateway",
  "integrations.bind": "gateway",
  "integrations.unbind": "gateway",
  "chatBindings.list": "session.open",
  "chatBindings.remove": "binding.own",
  "chatBindings.look": "session.open",
  "chatBindings.confirm": "session.open",
  "chatBindings.refuse": "session.open",
  "audit.list": "audit.read",
  "audit.export": "audit.read",
  "audit.verify": "audit.read"
} as const satisfies Record<string, EndpointAuthority>

export type EndpointName = keyof typeof endpointAuthority

/** Kinds of callers: without a valid sign-in, a Gateway, a user without a role in the project, and a user with each role. */
export const callers = [
  "no sign-in",
  "an expired sign-in",
  "a revoked sign-in",
  "a token of another kind",
  "a Gateway",
  "no member",
  ...ProjectRole.literals
] as const
export type Caller = (typeof callers)[number]

const isSignedIn = (caller: Caller): boolean => callers.indexOf(caller) >= callers.indexOf("no member")

const roleOf = (caller: Caller): ProjectRole | undefined =>
  ProjectRole.literals.find((role) => role === caller)

const isRoleAction = (authority: EndpointAuthority): authority is RoleAction =>
  authority in matrix && "role" in matrix[authority as Action]

/**
 * The code by which an endpoint refuses a caller; undefined where it does not for want of authority. The project is private, its owner is
 * the device's and the linked account's, the device is shared with it, and the Gateway names no account.
 */
export const refusalOf = (endpoint: EndpointName, caller: Caller): ErrorCode | undefined => {
  const authority: EndpointAuthority = endpointAuthority[endpoint]
  if (authority === "public.read") return undefined
  if (authority === "gateway") return caller === "a Gateway" ? undefined : "unauthorized"
  if (!isSignedIn(caller)) return "unauthorized"
  if (isRoleAction(authority)) return roleRefusal(authority, roleOf(caller))?.code
  if (authority === "device.own" || authority === "binding.own")
    return caller === "owner" ? undefined : "permission_denied"
  if (authority === "device.read") return roleOf(caller) === undefined ? "permission_denied" : undefined
  return undefined
}
