/**
 * Notifications of the app-server without an event: status, settings, plans, warnings, and progress that a later notification repeats.
 */
const silent = new Set([
  "account/rateLimits/updated",
  "account/updated",
  "app/list/updated",
  "configWarning",
  "deprecationNotice",
  "guardianWarning",
  "hook/completed",
  "hook/started",
  "item/commandExecution/outputDelta",
  "item/commandExecution/terminalInteraction",
  "item/fileChange/outputDelta",
  "item/mcpToolCall/progress",
  "item/plan/delta",
  "item/reasoning/summaryPartAdded",
  "mcpServer/startupStatus/updated",
  "model/rerouted",
  "remoteControl/status/changed",
  "skills/changed",
  "thread/closed",
  "thread/compacted",
  "thread/name/updated",
  "thread/settings/updated",
  "thread/started",
  "thread/status/changed",
  "turn/plan/updated",
  "warning"
])

/** Whether a notification is known and has no event. */
export const isSilent = (method: string): boolean => silent.has(method)
