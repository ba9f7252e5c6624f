/** Images of a message, as each runtime receives them. That they reach the model is tested with the real programs. */
import type { RunImage, RunStart, RuntimeAdapter } from "@corral/domain/run/RuntimeAdapter"
import { registry } from "@corral/testing/recordings/Fixtures"
import { assert, describe, it } from "@effect/vitest"
import { claudeCode } from "../src/ClaudeCode.ts"
import { gemini } from "../src/Gemini.ts"

const image: RunImage = { path: "/images of it/dot.png", mediaType: "image/png", base64: "aW1hZ2U=" }
const start: RunStart = {
  prompt: "Look.",
  mode: "full_access",
  workspacePath: "/workspace",
  images: [image]
}
const args = (adapter: RuntimeAdapter) => adapter.command(start).args

describe("An image of a message", () => {
  it("is a block of the message for Claude Code", () => {
    const [, message = ""] = claudeCode.protocol(start).open.trim().split("\n")
    assert.deepStrictEqual(JSON.parse(message).message.content, [
      { type: "text", text: "Look." },
      { type: "image", source: { type: "base64", media_type: "image/png", data: "aW1hZ2U=" } }
    ])
  })

  it("is a path for programs that read it themselves", () => {
    assert.include(args(gemini), "Look. @/images\\ of\\ it/dot.png")
    assert.deepStrictEqual(args(gemini).slice(-2), ["--include-directories", "/images of it"])
  })

  it("changes nothing for a runtime that takes none", () => {
    for (const adapter of registry.values()) {
      if (adapter.images === "native") continue
      const { images: _, ...without } = start
      assert.deepStrictEqual(adapter.command(start), adapter.command(without), adapter.id)
      assert.strictEqual(adapter.protocol(start).open, adapter.protocol(without).open, adapter.id)
    }
  })
})
