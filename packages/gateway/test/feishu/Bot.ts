/** A bot on its own fake Feishu, and a watch on the output. */
import { Effect, Redacted } from "effect"
import { inspect } from "node:util"
import { vi } from "vitest"
import { feishu } from "../../src/feishu/Feishu.ts"
import type { FeishuConfig } from "../../src/feishu/FeishuConfig.ts"
import { APP, TENANT, TOKEN } from "@corral/testing/gateway/FakeFeishu"
import { FakePlatform, SECRET } from "@corral/testing/gateway/FakePlatform"

export const openFake = Effect.acquireRelease(
  Effect.promise(() => FakePlatform.open()),
  (fake) => Effect.promise(() => fake.close())
)

export const configOf = (fake: FakePlatform, over: Partial<FeishuConfig> = {}): FeishuConfig => ({
  appId: APP,
  appSecret: Redacted.make(SECRET),
  verificationToken: Redacted.make(TOKEN),
  domain: fake.url,
  tenants: [TENANT],
  ...over
})

/** A bot, a user who writes to it, and their chat. */
export const openBot = Effect.fnUntraced(function* (over: Partial<FeishuConfig> = {}) {
  const fake = yield* openFake
  const ada = fake.person("ou_ada", "Ada")
  return { fake, ada, chat: fake.direct(ada), bot: feishu(configOf(fake, over)) }
})

/** All that is written to the console or the terminal while the scope lives. */
export const watchOutput = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const written: Array<unknown> = []
      const note = (...what: ReadonlyArray<unknown>) => {
        written.push(...what)
        return true
      }
      const spies = [
        ...(["log", "info", "warn", "error", "debug", "trace"] as const).map((name) =>
          vi.spyOn(console, name).mockImplementation(note)
        ),
        vi.spyOn(process.stdout, "write").mockImplementation(note),
        vi.spyOn(process.stderr, "write").mockImplementation(note)
      ]
      return { written, spies }
    }),
    ({ spies }) => Effect.sync(() => spies.forEach((spy) => spy.mockRestore()))
  ),
  ({ written }) =>
    () =>
      written.map((each) => inspect(each, { depth: null, maxStringLength: null })).join("\n")
)
