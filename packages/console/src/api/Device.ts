/** One device, as notes about it and approvals on it read it. */
import type { DeviceId } from "@corral/domain/identity/Ids"
import { useQuery } from "@tanstack/react-query"
import { hubApi } from "./Hub.ts"

/** Undefined while it is unknown. */
export const useDevice = (id: DeviceId | undefined) =>
  useQuery({
    queryKey: ["devices", "one", id],
    queryFn: ({ signal }) => hubApi.devices.get({ params: { id: id ?? ("" as DeviceId) }, signal }),
    enabled: id !== undefined
  }).data
