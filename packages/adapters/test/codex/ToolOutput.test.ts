import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { item, send, startProtocol } from "./Conversation.ts"

const png = Buffer.from("iVBORw0KGgo=", "base64")
const data = png.toString("base64")

/** Outputs of a completed item without the call. */
const resultOf = (value: object) =>
  send(startProtocol(), item("completed", { id: "c", status: "completed", ...value })).slice(1)

describe("results of Codex's tools", () => {
  it("have the images and files of MCP servers as artifacts of the call, before the result", () => {
    const [image, audio, result] = resultOf({
      type: "mcpToolCall",
      server: "browser",
      tool: "screenshot",
      result: {
        content: [
          { type: "text", text: "The page." },
          { type: "image", data, mimeType: "image/png" },
          { type: "audio", data, mimeType: "audio/wav" },
          { type: "hologram" }
        ]
      }
    })
    assert.deepInclude(image, { _tag: "Artifact", callId: "c", mediaType: "image/png", content: png })
    assert.deepInclude(audio, { _tag: "Artifact", callId: "c", mediaType: "audio/wav" })
    assert(result?._tag === "Event" && result.event.type === "run.tool.result")
    assert.strictEqual(result.event.payload.output, "The page.\n[hologram]")
  })

  it("have generated images, and images of dynamic tools", () => {
    for (const value of [
      { type: "imageGeneration", result: data },
      {
        type: "dynamicToolCall",
        contentItems: [{ type: "inputImage", imageUrl: `data:image/png;base64,${data}` }]
      }
    ])
      assert.deepInclude(resultOf(value)[0], {
        _tag: "Artifact",
        callId: "c",
        mediaType: "image/png",
        content: png
      })
  })

  it("name an image at an address, and never read it", () => {
    const [result] = resultOf({
      type: "dynamicToolCall",
      contentItems: [
        { type: "inputText", text: "Seen." },
        { type: "inputImage", imageUrl: "https://images.example/a.png" }
      ]
    })
    assert(result?._tag === "Event" && result.event.type === "run.tool.result")
    assert.strictEqual(result.event.payload.output, "Seen.\n[image]")
  })
})
