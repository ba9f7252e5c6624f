/**
 * Notifications of the app-server that are known and mean nothing to a run: signs of life, settings, progress of what is reported whole later,
 * and a plan and warnings, which have no event.
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

/** Whether it is known, and nothing is to be said of it. */
export const isSilent = (method: string): boolean => silent.has(method)
