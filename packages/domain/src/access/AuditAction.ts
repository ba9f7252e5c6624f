/**
 * Closed list of audited actions, each with a description for people.
 *
 * The contract, the documentation and the console's filter read this table. Other actions cannot be recorded.
 */
import { Schema } from "effect"

export const auditActions = {
  // Projects: the user's role decides.
  "project.create": "create a project",
  "project.read": "read a project; recorded when refused",
  "project.update": "change a project or its workspaces",
  "project.delete": "delete a project",
  "member.manage": "add, change or remove a member",
  "policy.manage": "change who decides approvals, or what chats receive",
  "limit.set": "set or change a limit of a project",
  "limit.remove": "remove a limit of a project",
  "audit.read": "read the audit of a project; recorded when refused",
  "session.write": "create or change a session, or write in it",
  // Tasks, runs and approvals.
  "task.create": "create a task",
  "group.continue": "continue with one candidate of a group, and close the others",
  "task.route": "send a task to a device; recorded when refused",
  "run.cancel": "cancel a task or a run",
  "run.pause": "pause a run",
  "run.resume": "resume a paused run",
  "run.finish": "finish a run that works in the background",
  "input.answer": "answer a question, or decide a plan",
  "run.input": "send further input to a run",
  "run.push": "push events of a run that is not the device's; recorded when refused",
  "approval.decide": "decide an approval",
  "changes.accept": "accept changes of a run",
  "changes.reject": "reject changes of a run",
  "changes.undo": "undo changes of a run, or a decision about them",
  "changes.remove": "remove undecided changes of a candidate that was not continued",
  // Devices.
  "device.join": "create a join token",
  "device.register": "register a device",
  "device.manage": "rename, share or unshare a device",
  "device.revoke": "revoke a device",
  "device.connect": "connect a device; recorded when refused",
  "device.rotate": "replace the key of a device",
  "device.presets": "create, change or remove a preset of a device",
  "device.flapping": "two machines use the key of one device",
  // Sign-ins and API keys.
  "sign_in.issue": "sign in",
  "sign_in.refresh": "renew a sign-in",
  "sign_in.revoke": "end a sign-in",
  "sign_in.refuse": "sign in; recorded when refused",
  "sign_in.approve": "approve a device code",
  "sign_in.deny": "deny a device code",
  "api_key.create": "create an API key",
  "api_key.remove": "remove an API key",
  // Chat accounts.
  "chat.start": "request a link between a chat account and a user",
  "chat.confirm": "confirm a link to a chat account",
  "chat.refuse": "refuse a link to a chat account",
  "chat.bind": "link a chat account to a user",
  "chat.unbind": "unlink a chat account"
} as const satisfies Record<string, string>

export type AuditAction = keyof typeof auditActions

/** Names of all audited actions. The cast restores the literal types, which `Object.keys` loses. */
export const auditActionNames = Object.keys(auditActions) as ReadonlyArray<AuditAction>

export const AuditAction = Schema.Literals(auditActionNames).annotate({ identifier: "AuditAction" })
