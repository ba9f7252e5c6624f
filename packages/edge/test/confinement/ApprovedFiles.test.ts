import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import type { DecisionScope } from "@corral/domain/approval/Approval"
import { assert, describe, it } from "@effect/vitest"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { workspacePathsAt } from "../../src/approval/PathTarget.ts"
import { ApprovedFiles } from "../../src/confinement/ApprovedFiles.ts"
import { openFolder } from "../Folder.ts"

const open = () => {
  const root = openFolder()
  mkdirSync(join(root, "sub"))
  writeFileSync(join(root, "package.json"), "{}")
  const approved = new ApprovedFiles(workspacePathsAt(root))
  const allow = (request: Partial<ApprovalRequest>, scope: DecisionScope = "once") =>
    approved.allow(
      { action: "write", risk: "low", title: "a", editable: false, scopes: ["once"], ...request },
      { decision: "allow", scope }
    )
  return { allow, approved, root }
}

describe("ApprovedFiles", () => {
  it("covers one change of each file that an approval names", () => {
    const { allow, approved } = open()
    allow({ files: ["package.json", "sub/../.envrc"] })
    for (const path of ["package.json", ".envrc"]) assert.isTrue(approved.covers(path), path)
    approved.use(["package.json"])
    assert.isFalse(approved.covers("package.json"))
    assert.isTrue(approved.covers(".envrc"))
  })

  it("covers the file at the end of a link, not the link", () => {
    const { allow, approved, root } = open()
    symlinkSync("package.json", join(root, "link"))
    allow({ files: ["link"] })
    assert.deepStrictEqual([...approved.once], ["package.json"])
  })

  it("covers what a command names, in its folder, and nothing else", () => {
    const { allow, approved } = open()
    allow({ action: "shell", command: "cd sub && sed -i s/a/b/ package.json && npm test > .env" })
    assert.isTrue(approved.covers("sub/package.json"))
    assert.isTrue(approved.covers("sub/.env"))
    assert.isFalse(approved.covers("package.json"))
  })

  it("covers every change if the decision is remembered", () => {
    const { allow, approved } = open()
    allow({ files: ["package.json"] }, "run")
    approved.use(["package.json"])
    assert.isTrue(approved.covers("package.json"))
  })

  it("covers nothing after a denial", () => {
    const { approved } = open()
    approved.allow(
      { action: "write", risk: "low", title: "a", editable: false, scopes: ["once"], files: ["a"] },
      { decision: "deny", scope: "once" }
    )
    assert.isFalse(approved.covers("a"))
  })
})
