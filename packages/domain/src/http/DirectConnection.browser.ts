/** What browsers load instead of `DirectConnection`: they have no environment, and decide about proxies themselves. */
import type * as Node from "./DirectConnection.ts"

export const directOptions: typeof Node.directOptions = () => ({})
