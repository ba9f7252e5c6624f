/** Endpoints that a chat account may call: those to follow and do work. Other endpoints require a sign-in. */
import type { Endpoint } from "./HubCredentials.ts"

/** Method and path, as in the contract. */
export const chatEndpoints: ReadonlySet<string> = new Set([
  "GET /client/auth/me",
  "GET /client/sessions",
  "POST /client/sessions",
  "GET /client/sessions/:id",
  "GET /client/sessions/:id/messages",
  "POST /client/sessions/:id/messages",
  "GET /client/sessions/:id/messages/:messageId",
  "PATCH /client/sessions/:id/messages/:messageId",
  "POST /client/sessions/:id/messages/:messageId/withdraw",
  "POST /client/sessions/:id/agents",
  "POST /client/sessions/:id/agents/:agentInstanceId/continue",
  "GET /client/projects",
  "GET /client/projects/:id",
  "GET /client/projects/:id/members",
  "GET /client/targets",
  "GET /client/agents",
  "POST /web/agent-tasks",
  "GET /client/tasks",
  "GET /client/tasks/:id",
  "POST /client/tasks/:id/cancel",
  "GET /client/runs",
  "GET /client/runs/:id",
  "GET /client/runs/:id/events",
  "POST /client/runs/:id/cancel",
  "POST /client/runs/:id/finish",
  "POST /client/runs/:id/input",
  "GET /client/runs/:id/approvals",
  "GET /client/approvals",
  "GET /client/approvals/:id",
  "POST /client/approvals/:id/decide",
  "GET /client/inputs",
  "GET /client/inputs/:id",
  "POST /client/inputs/:id/answer",
  "GET /client/events"
])

export const isOpenToChat = ({ method, path }: Endpoint): boolean => chatEndpoints.has(`${method} ${path}`)
