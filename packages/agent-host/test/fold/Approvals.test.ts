/** What a client shows of an action that waits for a decision. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { assert, describe, it } from "@effect/vitest"
import { confirmation } from "../../src/fold/Approvals.ts"

const request: ApprovalRequest = {
  action: "shell",
  risk: "high",
  title: "Run ls",
  command: "ls",
  editable: false,
  scopes: ["once"]
}

const shown = (more: Partial<ApprovalRequest>): string =>
  JSON.stringify(confirmation("t", "c", "apr_1", { ...request, ...more }))

describe("the description of a call that waits", () => {
  it("names the folder of a command, and the workspace for its root", () => {
    assert.include(shown({ cwd: "." }), "Folder: the workspace")
    assert.include(shown({ cwd: "packages/site" }), "Folder: packages/site")
    assert.notInclude(shown({}), "Folder")
  })
})
