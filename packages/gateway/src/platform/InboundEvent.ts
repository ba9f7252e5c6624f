/** What events of all platforms have in common when they are decoded: where they come from, and the failure of another shape. */
import { type Inbound, NotUnderstood } from "./ChatPlatform.ts"

/** Failure of a body that does not match the type of its event. */
export const notUnderstood = (): NotUnderstood =>
  new NotUnderstood({ message: "The event does not match its type." })

/** Fields of a draft that name its event. */
export const originOf = ({ app, platform, tenant, upstreamId }: Inbound) => ({
  platform,
  app,
  tenant,
  upstreamEventId: upstreamId
})
