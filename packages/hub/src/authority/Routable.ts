/** Devices that a person may route to: their own, and those shared with a project where their role lets them make tasks. */
import { roleRefusal } from "@corral/domain/access/Authorization"
import type { UserId } from "@corral/domain/identity/Ids"
import { ProjectRole } from "@corral/domain/project/Project"
import type { SqlClient } from "effect/sql"

const roles = ProjectRole.literals.filter((role) => roleRefusal("task.create", role) === undefined)

/**
 * Two conditions on `devices` that exclude each other. Whether a device was revoked is not their question. What is shared is gathered
 * first, so that nobody's list walks over the devices of others.
 */
export const routableBy = (sql: SqlClient.SqlClient, userId: UserId) => ({
  own: sql`devices.owner_id = ${userId}`,
  shared: sql`
    devices.owner_id <> ${userId} AND devices.id = ANY (ARRAY(
      SELECT s.device_id FROM project_members m JOIN device_shares s ON s.project_id = m.project_id
      WHERE m.user_id = ${userId} AND ${sql.in("m.role", roles)}
    ))`
})
