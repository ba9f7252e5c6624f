/** Devices that a user may route to: the user's own, and devices shared with a project where the user's role allows tasks. */
import { roleRefusal } from "@corral/domain/access/Authorization"
import type { UserId } from "@corral/domain/identity/Ids"
import { ProjectRole } from "@corral/domain/project/Project"
import type { SqlClient } from "effect/sql"

const roles = ProjectRole.literals.filter((role) => roleRefusal("task.create", role) === undefined)

/**
 * Two conditions on `devices` that exclude each other. Does not check whether a device is revoked. The shared devices are collected first, so that a
 * list never scans devices of other users.
 */
export const routableDeviceConditions = (sql: SqlClient.SqlClient, userId: UserId) => ({
  owned: sql`devices.owner_id = ${userId}`,
  shared: sql`
    devices.owner_id <> ${userId} AND devices.id = ANY (ARRAY(
      SELECT s.device_id FROM project_members m JOIN device_shares s ON s.project_id = m.project_id
      WHERE m.user_id = ${userId} AND ${sql.in("m.role", roles)}
    ))`
})
