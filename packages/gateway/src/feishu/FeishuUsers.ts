/**
 * Identities on Feishu: the open id of the bot, and the names of users. Names are for display only and identify no user.
 */
import { Clock, Effect, Semaphore } from "effect"
import { NotSent, type PlatformUser, PlatformUnavailable } from "../platform/ChatPlatform.ts"
import { BotInfo, type FeishuCall, pathSegment, FeishuTenant, FeishuUser } from "./FeishuApi.ts"

const CACHE_MS = 5 * 60_000
const MAX_CACHED = 1_000

/** The bot's open id: configured, or requested once. */
export const makeBotId = (
  call: FeishuCall,
  configuredId: string | undefined
): Effect.Effect<string, PlatformUnavailable> => {
  let id = configuredId
  const lock = Semaphore.makeUnsafe(1)
  const request = Effect.gen(function* () {
    if (id !== undefined) return id
    const { bot } = yield* call(BotInfo, (client) =>
      client.request({ method: "GET", url: "/open-apis/bot/v3/info" })
    )
    id = bot.open_id
    return id
  })
  return lock
    .withPermit(request)
    .pipe(
      Effect.mapError((failure) =>
        failure instanceof NotSent
          ? new PlatformUnavailable({ message: `The bot's id could not be read. ${failure.message}` })
          : failure
      )
    )
}

/** Lookup of users. Results are cached for five minutes, missing names too. */
export const makeUserLookup = (call: FeishuCall): ((userId: string) => Effect.Effect<PlatformUser>) => {
  const cache = new Map<string, { readonly person: PlatformUser; readonly until: number }>()
  let tenantName: string | undefined

  const tenant = Effect.gen(function* () {
    tenantName ??= yield* call(FeishuTenant, (client) => client.tenant.v2.tenant.query({})).pipe(
      Effect.map(({ data }) => data.tenant.name),
      Effect.orElseSucceed(() => undefined)
    )
    return tenantName
  })
  const nameOf = (userId: string) =>
    call(FeishuUser, (client) =>
      client.contact.v3.user.get({
        path: { user_id: pathSegment(userId) },
        params: { user_id_type: "open_id" }
      })
    ).pipe(
      Effect.map(({ data }) => data.user.name),
      Effect.orElseSucceed(() => undefined)
    )

  return Effect.fn("FeishuUsers.lookup")(function* (userId: string) {
    const now = yield* Clock.currentTimeMillis
    const cached = cache.get(userId)
    if (cached !== undefined && cached.until > now) return cached.person
    const [name, tenantOfBot] = yield* Effect.all([nameOf(userId), tenant], { concurrency: 2 })
    const person = {
      ...(name === undefined ? {} : { name }),
      ...(tenantOfBot === undefined ? {} : { tenantName: tenantOfBot })
    }
    cache.delete(userId)
    cache.set(userId, { person, until: now + CACHE_MS })
    // The oldest entry comes first.
    for (const oldest of cache.keys()) {
      if (cache.size <= MAX_CACHED) break
      cache.delete(oldest)
    }
    return person
  })
}
