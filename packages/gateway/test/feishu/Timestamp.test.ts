import { assert, describe, it } from "@effect/vitest"
import { createdMillis, headerMillis } from "../../src/feishu/Verification.ts"

describe("headerMillis", () => {
  it.each([
    ["1790000000", 1_790_000_000_000],
    ["2026-10-04 18:23:46.052290112 +0800 CST m=+3612.1", Date.UTC(2026, 9, 4, 10, 23, 46, 52)],
    ["2026-10-04 10:23:46 +0000 UTC", Date.UTC(2026, 9, 4, 10, 23, 46)],
    ["2026-10-04 10:23:46.5 -0330 -0330", Date.UTC(2026, 9, 4, 13, 53, 46, 500)],
    ["2026-13-04 10:23:46 +0000 UTC", undefined],
    ["", undefined],
    ["-5", undefined],
    ["1e9", undefined]
  ])("%s", (text, millis) => assert.strictEqual(headerMillis(text), millis))
})

describe("createdMillis", () => {
  it.each([
    ["1790000000123", 1_790_000_000_123],
    ["1790000000123480", 1_790_000_000_123],
    ["soon", undefined],
    ["", undefined]
  ])("%s", (text, millis) => assert.strictEqual(createdMillis(text), millis))
})
