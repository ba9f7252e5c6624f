import { assert, describe, it } from "@effect/vitest"
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { RunMode } from "@corral/domain/run/Run"
import { Effect } from "effect"
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { workspacePathsAt } from "../../src/approval/PathTarget.ts"
import { RunPolicy } from "../../src/approval/RunPolicy.ts"
import { temporaryFolder } from "../Folder.ts"

const reading = (...files: ReadonlyArray<string>): ApprovalRequest => ({
  action: "write",
  risk: "low",
  title: "Read a file",
  tool: "Read",
  files,
  readsOnly: true,
  editable: false,
  scopes: ["once"]
})

const printing = (command: string): ApprovalRequest => ({
  action: "shell",
  risk: "medium",
  title: "Run a command",
  tool: "shell",
  command,
  cwd: ".",
  editable: false,
  scopes: ["once"]
})

const stage = Effect.map(temporaryFolder, (folder) => {
  const [workspace, attachments] = [join(folder, "workspace"), join(folder, "attachments")]
  mkdirSync(workspace)
  mkdirSync(attachments)
  const file = join(attachments, "notes.txt")
  writeFileSync(file, "notes")
  writeFileSync(join(folder, "secret"), "secret")
  symlinkSync(join(folder, "secret"), join(attachments, "link"))
  const judge = (mode: RunMode, request: ApprovalRequest, isWhole = true) => {
    const policy = new RunPolicy({
      run: { workspace: "ws", agentId: "agent", mode } as RunPolicy["options"]["run"],
      place: workspacePathsAt(workspace),
      attachmentFolder: attachments,
      configured: [],
      storedGrant: () => undefined,
      put: () => ["", ""]
    })
    return policy.judge(policy.assess(request), isWhole)
  }
  return { attachments, file, folder, judge }
})

describe("The files of a conversation", () => {
  it.effect("may be read in every mode without a question", () =>
    Effect.gen(function* () {
      const { attachments, file, judge } = yield* stage
      for (const mode of RunMode.literals)
        for (const request of [
          reading(file, attachments),
          ...["cat", "cat -n", "head -n 20", "tail -20", "wc -l", "sed -n 1,200p"].map((read) =>
            printing(`${read} ${file}`)
          )
        ])
          assert.deepStrictEqual<object>(
            judge(mode, request),
            { _tag: "Allow", by: "policy:attachments" },
            `${mode} ${request.command}`
          )
    })
  )

  it.effect("may not be written, and make nothing else readable", () =>
    Effect.gen(function* () {
      const { attachments, file, folder, judge } = yield* stage
      const { readsOnly: _, ...write } = reading(file)
      const requests: ReadonlyArray<ApprovalRequest> = [
        write,
        { ...reading(file), command: `cat ${file}` },
        ...[
          `cat ${file} > copy`,
          `cat ${file} | sh`,
          `cat ${file}; rm ${file}`,
          `cat ${file} $(id)`,
          `cat ${file} ${folder}/secret`,
          `cat --show-all ${file}`,
          `cat`,
          `PAGER=x cat ${file}`,
          `./cat ${file}`,
          `sed -i 1p ${file}`,
          `sed -n 1w${folder}/x ${file}`,
          `rm ${file}`
        ].map(printing),
        { ...reading(file), url: "https://example.com" },
        reading(),
        reading(file, join(folder, "secret")),
        reading(join(attachments, "link")),
        reading(join(attachments, "..", "secret")),
        reading(join(attachments, "missing")),
        reading("notes.txt"),
        reading(`${attachments}-other/notes.txt`)
      ]
      for (const request of requests) {
        const what = JSON.stringify(request)
        assert.strictEqual(judge("read_only", request)._tag, "Deny", what)
        assert.strictEqual(judge("ask", request)._tag, "Ask", what)
      }
      assert.strictEqual(
        judge("ask", reading(file), false)._tag,
        "Ask",
        "a request that is not shown completely"
      )
    })
  )
})
