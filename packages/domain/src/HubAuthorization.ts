/**
 * Which authority each endpoint of the Hub asks for, as data: what `docs/authorization.md` says and what the Hub is held to.
 *
 * A list asks for a sign-in and shows what its caller may read.
 */
import type { Action } from "./Authorization.ts"

export type EndpointAuthority =
  | Action
  /** The person whose device it is. */
  | "device.own"
  /** A join token, or a sign-in. */
  | "device.join"

/** By group and name of the endpoint. */
export const endpointAuthority = {
  "public.health": "public.read",
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
  "auth.deviceApprove": "session.open",
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
  "devices.get": "device.own",
  "devices.update": "device.own",
  "devices.remove": "device.own",
  "devices.targets": "session.open",
  "tasks.create": "task.create",
  "tasks.list": "session.open",
  "tasks.get": "project.read",
  "tasks.cancel": "run.cancel",
  "runs.list": "session.open",
  "runs.get": "project.read",
  "runs.events": "project.read",
  "runs.cancel": "run.cancel",
  "runs.approvals": "project.read",
  "runs.diff": "project.read",
  "runs.artifacts": "project.read",
  "approvals.list": "session.open",
  "approvals.decide": "approval.decide",
  "audit.list": "audit.read",
  "audit.verify": "audit.read"
} as const satisfies Record<string, EndpointAuthority>

export type EndpointName = keyof typeof endpointAuthority
